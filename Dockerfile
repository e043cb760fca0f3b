# The labelling page for a group, behind a reverse proxy that adds TLS:
#   docker build -t fewlabels-studio .
#   docker run -p 127.0.0.1:8000:8000 -v "$PWD:/data" fewlabels-studio \
#       wines.csv --target cultivar --person Ann --person Ben --site https://labels.example.org
FROM python:3.13-slim
COPY . /tmp/source
RUN pip install --no-cache-dir "/tmp/source[studio]" && rm -rf /tmp/source \
    && useradd --create-home labeller
USER labeller
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["fewlabels", "studio", "--host", "0.0.0.0", "--port", "8000", "--no-browser", "--keep-address"]

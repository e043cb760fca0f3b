// Log in with a name and a passphrase.

const get = (id) => document.getElementById(id);

get("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  get("why").textContent = "";
  try {
    const answer = await fetch("api/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: get("name").value, passphrase: get("passphrase").value }) });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.error);
    location.reload();
  } catch (error) { get("why").textContent = error.message; }
});

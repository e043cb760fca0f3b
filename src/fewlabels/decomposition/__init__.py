from fewlabels.decomposition._robust_pca import RobustPCA, robust_pca, soft_threshold
from fewlabels.decomposition._streaming import (
    oja_update,
    past_update,
    minor_update,
    PAST,
    OjaSubspace,
    MinorSubspace,
)
from fewlabels.decomposition._subspaces import *
from fewlabels.decomposition._whitening import *
from fewlabels.decomposition._fisher import *
from fewlabels.decomposition._cca import *

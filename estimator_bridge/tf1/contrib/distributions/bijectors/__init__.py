"""`tf.contrib.distributions.bijectors`: differentiable transformations that have an inverse."""

from estimator_bridge.private_tf import distributions_bijector as _base
from estimator_bridge.private_tf import distributions_identity as _identity
from estimator_bridge.tf1.contrib.distributions.bijectors import affine as _affine
from estimator_bridge.tf1.contrib.distributions.bijectors import combining as _combining
from estimator_bridge.tf1.contrib.distributions.bijectors import elementwise as _elementwise
from estimator_bridge.tf1.contrib.distributions.bijectors import families as _families
from estimator_bridge.tf1.contrib.distributions.bijectors import flows as _flows
from estimator_bridge.tf1.contrib.distributions.bijectors import matrices as _matrices
from estimator_bridge.tf1.contrib.distributions.bijectors import normalization as _normalization
from estimator_bridge.tf1.contrib.distributions.bijectors import reshaping as _reshaping
from estimator_bridge.tf1.contrib.distributions.bijectors import vectors as _vectors
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="use the package tensorflow-probability (tfp.bijectors)"
)

Bijector = _base.Bijector
Identity = _identity.Identity

AbsoluteValue = _elementwise.AbsoluteValue
AffineScalar = _elementwise.AffineScalar
Sigmoid = _elementwise.Sigmoid
Softplus = _elementwise.Softplus
Softsign = _elementwise.Softsign
Square = _elementwise.Square

Exp = _families.Exp
Gumbel = _families.Gumbel
Kumaraswamy = _families.Kumaraswamy
PowerTransform = _families.PowerTransform
SinhArcsinh = _families.SinhArcsinh

Affine = _affine.Affine
AffineLinearOperator = _affine.AffineLinearOperator

Chain = _combining.Chain
ConditionalBijector = _combining.ConditionalBijector
Inline = _combining.Inline
Invert = _combining.Invert

CholeskyOuterProduct = _matrices.CholeskyOuterProduct
FillTriangular = _matrices.FillTriangular
MatrixInverseTriL = _matrices.MatrixInverseTriL
ScaleTriL = _matrices.ScaleTriL
TransformDiagonal = _matrices.TransformDiagonal

BatchNormalization = _normalization.BatchNormalization
Ordered = _vectors.Ordered
Permute = _vectors.Permute
Reshape = _reshaping.Reshape
SoftmaxCentered = _vectors.SoftmaxCentered

MaskedAutoregressiveFlow = _flows.MaskedAutoregressiveFlow
RealNVP = _flows.RealNVP
masked_autoregressive_default_template = _flows.masked_autoregressive_default_template
masked_dense = _flows.masked_dense
real_nvp_default_template = _flows.real_nvp_default_template

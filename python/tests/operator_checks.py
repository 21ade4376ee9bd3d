"""Checks of pysortium.torch that tests on the CPU and on a GPU share."""


def check_operators(torch, pst, x, dim, descending):
    """Values, positions, and PyTorch's own checks of operators: schema, fake kernels, autograd, no
    aliases."""
    expected = torch.sort(x, dim=dim, descending=descending, stable=True)
    assert torch.equal(pst.sort(x, dim, descending=descending), expected.values)
    assert torch.equal(pst.argsort(x, dim, descending=descending), expected.indices)
    for operator in (torch.ops.pysortium.sort.default, torch.ops.pysortium.argsort.default):
        torch.library.opcheck(operator, (x, dim, descending))
    torch.library.opcheck(
        torch.ops.pysortium.sort.default, (x.clone().requires_grad_(), dim, descending)
    )


def check_gradients(torch, pst, x, dim, descending):
    """The gradient beside torch.sort's, of equal keys too, and the second derivative."""
    weights = torch.randn_like(x)
    for values in (x, x.round()):
        found, expected = values.clone().requires_grad_(), values.clone().requires_grad_()
        (pst.sort(found, dim, descending=descending) * weights).sum().backward()
        (
            torch.sort(expected, dim=dim, descending=descending, stable=True).values * weights
        ).sum().backward()
        assert torch.equal(found.grad, expected.grad)
    few = x[:3, :4].clone().requires_grad_()
    assert torch.autograd.gradgradcheck(
        lambda v: pst.sort(v, dim, descending=descending) ** 2, (few,)
    )
    assert not pst.argsort(few).requires_grad


def check_compiled(torch, pst, x, backend):
    """Compiled without a graph break, with gradients, for a second shape, and under autocast."""

    def loss(v):
        return (pst.sort(v * 2, 0) * pst.argsort(v, 0)).sum()

    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    for values in (x, x[:, : x.shape[1] // 2].clone()):
        found, expected = values.clone().requires_grad_(), values.clone().requires_grad_()
        compiled(found).backward()
        loss(expected).backward()
        torch.testing.assert_close(found.grad, expected.grad)
    with torch.autocast(x.device.type, torch.bfloat16):
        assert pst.sort(x).dtype == x.dtype
        assert pst.sort(x.to(torch.bfloat16)).dtype == torch.bfloat16

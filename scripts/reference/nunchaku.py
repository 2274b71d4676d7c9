"""SVDQuant's weights as nunchaku's files hold them, and what they stand for. Values lie in the order in which 32 lanes of a matrix unit load tiles."""

import torch

TILE = 128
SHIFT = 0.171875  # what the kernels add to what GELU gives, before codes of integers
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


def nibbles(words):
    """Codes of words of 32 bits, the lowest first, behind the other axes."""
    return (words.to(torch.int64).unsqueeze(-1) >> torch.arange(0, 32, 4)) & 15


def codes(qweight):
    """[rows, k] codes of 0 to 15."""
    rows, k = qweight.shape[0], 2 * qweight.shape[1]
    words = qweight.contiguous().view(torch.uint8).reshape(-1).view(torch.int32)
    tiles = nibbles(words).reshape(rows // TILE, k // 64, 8, 8, 4, 2, 2, 8)
    # [tile, 64 k's, 16 rows, row of 8, lane of 4, half of the rows, half of the k's, k of 8]
    return tiles.permute(0, 2, 5, 3, 1, 6, 4, 7).reshape(rows, k)


def halves(scales, rows):
    """[rows, groups] of values of 16 bits."""
    tiles = scales.reshape(rows // TILE, -1, 8, 4, 2, 2)
    # [tile, group, 16 rows, pair of 4, half of the rows, row of the pair]
    return tiles.permute(0, 2, 4, 3, 5, 1).reshape(rows, -1)


def micro(scales, rows):
    """[rows, groups] of E4M3 scales of 16 k's."""
    tiles = scales.reshape(rows // TILE, -1, 8, 4, 4, 4)
    # [tile, 64 k's, row of 8, 8 rows of 4, 32 rows of 4, 16 k's of 4]
    return tiles.permute(0, 4, 3, 2, 1, 5).reshape(rows, -1)


def factor(packed, down):
    """[rank, k] or [rows, rank]."""
    outer, rank = packed.shape
    tiles = packed.reshape(outer // 16, rank // 16, 8, 4, 2, 2, 2).permute(0, 1, 4, 2, 5, 3, 6).reshape(outer // 16, rank // 16, 16, 16)
    return tiles.permute(1, 2, 0, 3).reshape(rank, outer) if down else tiles.permute(0, 2, 1, 3).reshape(outer, rank)


def weight(module, shifted=False):
    """The matrix and the bias that a module's tensors make up for inputs that are not rounded, in f64, with its own matrix in 4 bits."""
    rows = module['qweight'].shape[0]
    all_codes = codes(module['qweight'])
    if module['wscales'].dtype == torch.float8_e4m3fn:
        scales = micro(module['wscales'], rows).double().repeat_interleave(16, 1)
        rates = module['wcscales'].double() if 'wcscales' in module else torch.ones(rows, dtype=torch.float64)
        rates = halves(rates, rows) * module.get('wtscale', torch.ones(1)).double()
        own = E2M1[all_codes] * scales * rates
    else:
        signed = torch.where(all_codes > 7, all_codes - 16, all_codes)
        own = signed.double() * halves(module['wscales'], rows).double().repeat_interleave(64, 1)
    k = own.shape[1]
    smooth = halves(module['smooth'], k).double().view(1, -1)
    down, up = factor(module['lora_down'], True).double(), factor(module['lora_up'], False).double()
    bias = halves(module['bias'], rows).double().view(-1)
    if shifted and module['wscales'].dtype != torch.float8_e4m3fn:
        bias = bias + SHIFT * (own / smooth).sum(1)
    return own / smooth + up @ down, bias, own


def modulation(module):
    """The matrix and the bias of a modulation: the file has its chunks by turns, and 1 added to the biases of scales."""
    words = module['qweight'].contiguous().view(torch.int16).to(torch.int64) & 0xFFFF
    rows, k = 4 * module['qweight'].shape[0], 2 * module['qweight'].shape[1]
    # [4 rows, 64 k's, row of 4, 32 k's of 2, k of 8] of which each word holds every eighth
    parts = words.reshape(rows // 4, k // 64, 4, 2, 8)
    digits = (parts.unsqueeze(-2) >> torch.arange(0, 16, 4).view(4, 1)) & 15
    own = digits.permute(0, 2, 1, 3, 4, 5).reshape(rows, k).double()
    scales, zeros = (module[name].double().t().repeat_interleave(64, 1)[:, :k] for name in ('wscales', 'wzeros'))
    turns = rows // k
    own = (own * scales + zeros).reshape(k, turns, k).transpose(0, 1).reshape(rows, k)
    bias = module['bias'].double().reshape(k, turns).t().clone()
    for scale in {1, turns - 2}:
        bias[scale] -= 1
    return own, bias.reshape(-1)

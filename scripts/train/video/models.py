"""The parts of the WanPipeline: text encoder, transformer, autoencoder and schedule, all of diffusers' and transformers' own classes."""

import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanTransformer3DModel
from diffusers.models.transformers.transformer_wan import WanAttnProcessor
from space import CHANNELS
from transformers import UMT5Config, UMT5EncoderModel

TEXT_WIDTH, TEXT_LENGTH = 128, 512
WIDTH, HEADS, LAYERS = 192, 4, 6
CERTAIN = -12.0
"""Log variance that the encoder gives: so low that latents are practically deterministic."""
SCHEDULE = {
    "prediction_type": "flow_prediction",
    "use_flow_sigmas": True,
    "num_train_timesteps": 1000,
    "flow_shift": 3.0,
    "solver_order": 2,
}


def make_text(vocabulary: int) -> UMT5EncoderModel:
    torch.manual_seed(2)
    return UMT5EncoderModel(
        UMT5Config(
            vocab_size=vocabulary,
            d_model=TEXT_WIDTH,
            d_kv=32,
            d_ff=192,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            feed_forward_proj="gated-gelu",
        )
    )


def make_transformer() -> WanTransformer3DModel:
    torch.manual_seed(3)
    transformer = WanTransformer3DModel(
        patch_size=(1, 2, 2),
        num_attention_heads=HEADS,
        attention_head_dim=WIDTH // HEADS,
        in_channels=CHANNELS,
        out_channels=CHANNELS,
        text_dim=TEXT_WIDTH,
        freq_dim=128,
        ffn_dim=3 * WIDTH,
        num_layers=LAYERS,
        cross_attn_norm=True,
        rope_max_seq_len=256,
    )
    torch.nn.init.zeros_(transformer.proj_out.weight)
    return transformer


def make_vae() -> AutoencoderKLWan:
    torch.manual_seed(1)
    vae = AutoencoderKLWan(
        base_dim=8,
        decoder_base_dim=16,
        z_dim=CHANNELS,
        dim_mult=[1, 2, 3, 3],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.0] * CHANNELS,
        latents_std=[1.0] * CHANNELS,
    )
    with torch.no_grad():
        vae.quant_conv.weight.copy_(torch.eye(2 * CHANNELS).view(2 * CHANNELS, 2 * CHANNELS, 1, 1, 1))
        vae.quant_conv.weight[CHANNELS:] = 0
        vae.quant_conv.bias.copy_(torch.tensor([0.0] * CHANNELS + [CERTAIN] * CHANNELS))
    return vae


def make_schedule() -> UniPCMultistepScheduler:
    return UniPCMultistepScheduler(**SCHEDULE)


class Padded:
    """WanAttnProcessor in plain operations, which compile well and whose gradient is fast on a CPU.

    A text counts as if it were padded to the whole length, as the pipeline pads it, though it comes with one row of padding:
    `bias` [n, 1, 1, words] is added to the logits of words."""

    bias: torch.Tensor

    def __call__(self, attn, hidden_states, encoder_hidden_states=None, attention_mask=None, rotary_emb=None):
        source = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key = attn.norm_q(attn.to_q(hidden_states)), attn.norm_k(attn.to_k(source))
        query, key, value = (x.unflatten(2, (attn.heads, -1)) for x in (query, key, attn.to_v(source)))
        if rotary_emb is not None:
            query, key = turned(query, *rotary_emb), turned(key, *rotary_emb)
        query, key, value = (x.to(value.dtype).transpose(1, 2) for x in (query, key, value))
        logits = ((query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)).float()
        if encoder_hidden_states is not None:
            logits = logits + self.bias
        return attn.to_out[0]((logits.softmax(-1).to(value.dtype) @ value).transpose(1, 2).flatten(2))


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates pairs of channels by the angles of their place."""
    cos, sin = cos[..., 0::2, None], sin[..., 1::2, None]
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs[..., :1], pairs[..., 1:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def padding_bias(lengths: torch.Tensor, words: int) -> torch.Tensor:
    """For texts of these lengths in `words` rows, at least one of them padding: 0, then the logarithm of how often padding comes, then nothing."""
    row = torch.arange(words)
    bias = torch.where(row < lengths[:, None], 0.0, -torch.inf)
    bias[torch.arange(len(lengths)), lengths] = (TEXT_LENGTH - lengths).float().log()
    return bias[:, None, None]


class Denoiser(torch.nn.Module):
    """Text encoder and transformer, as the pipeline joins them."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.text, self.transformer = make_text(vocabulary), make_transformer()
        self.padded = Padded()
        for block in self.transformer.blocks:
            block.attn1.processor = block.attn2.processor = self.padded

    def compile_blocks(self) -> None:
        for block in self.transformer.blocks:
            block.compile(dynamic=False)

    def as_published(self) -> WanTransformer3DModel:
        """The transformer with diffusers' own attention."""
        for block in self.transformer.blocks:
            block.attn1.processor = block.attn2.processor = WanAttnProcessor()
        return self.transformer

    def forward(self, x: torch.Tensor, timestep: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        words = self.text(ids, mask).last_hidden_state * mask[:, :, None]
        words = torch.nn.functional.pad(words, (0, 0, 0, 1))
        self.padded.bias = padding_bias(mask.sum(1).cpu(), words.shape[1]).to(x.device)
        return self.transformer(x, timestep, words, return_dict=False)[0]

"""The tiny checkpoints of Stable Diffusion 3 and 3.5, with heads, tables of positions and widths of encoders that no published one has."""

from diffusers import SD3Transformer2DModel
from transformers import CLIPTextModelWithProjection

from image_configs_flux import t5
from image_part import Checkpoint, Part, index

CLIP_VOCABULARY = 720
EOS_ID = 713
FLOW = dict(num_train_timesteps=1000, shift=3.0)


def clip(seed, **config):
    sizes = dict(
        vocab_size=CLIP_VOCABULARY, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=2,
        max_position_embeddings=77, projection_dim=20, hidden_act='quick_gelu', bos_token_id=0, eos_token_id=2, pad_token_id=1,
        layer_norm_eps=1e-5,
    )  # fmt: skip
    return Part('model', CLIPTextModelWithProjection, sizes | config, seed)


def transformer(seed, **config):
    sizes = dict(
        sample_size=12, patch_size=2, in_channels=16, out_channels=16, num_layers=3, attention_head_dim=20, num_attention_heads=3,
        joint_attention_dim=76, caption_projection_dim=60, pooled_projection_dim=56, pos_embed_max_size=11,
    )  # fmt: skip
    return Part('model', SD3Transformer2DModel, sizes | config, seed, 'f16')


INDEX = index(
    'StableDiffusion3Pipeline',
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'CLIPTextModelWithProjection'),
    text_encoder_2=('transformers', 'CLIPTextModelWithProjection'),
    text_encoder_3=('transformers', 'T5EncoderModel'),
    tokenizer=('transformers', 'CLIPTokenizer'),
    tokenizer_2=('transformers', 'CLIPTokenizer'),
    tokenizer_3=('transformers', 'T5TokenizerFast'),
    transformer=('diffusers', 'SD3Transformer2DModel'),
    vae=('diffusers', 'AutoencoderKL'),
    image_encoder=None,
    feature_extractor=None,
)
SD3 = {
    'sd3': Checkpoint(
        {
            'text_encoder': clip(101),
            'text_encoder_2': clip(
                102, hidden_size=40, intermediate_size=56, num_hidden_layers=4, projection_dim=36, hidden_act='gelu',
                eos_token_id=EOS_ID,
            ),
            'text_encoder_3': t5(103, d_model=76, num_layers=2),
            'transformer': transformer(104),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW),
        },
        INDEX,
    ),
    # Two attentions in the first block and in the last, after which the text is not read; no T5.
    'sd3-dual': Checkpoint(
        {
            'transformer': transformer(
                105, attention_head_dim=24, num_attention_heads=2, caption_projection_dim=48, pos_embed_max_size=14,
                dual_attention_layers=(0, 2), qk_norm='rms_norm',
            ),
        },
        INDEX | {'text_encoder_3': [None, None], 'tokenizer_3': [None, None]},
    ),
    'sd3-inpaint': Checkpoint({'transformer': transformer(106, in_channels=33, num_layers=2, qk_norm='rms_norm')}),
}  # fmt: skip

"""The tiny checkpoints of Wan: two frames to a frame of latents after the first, four pixels to a latent, heads of 20 dimensions."""

from diffusers import AutoencoderKLWan, WanTransformer3DModel
from transformers import CLIPVisionModel, UMT5EncoderModel

from image_configs_flux import VOCABULARY
from image_part import Checkpoint, Part, index

SCHEDULE = dict(num_train_timesteps=1000, prediction_type='flow_prediction', use_flow_sigmas=True, flow_shift=3.0)
PROCESSOR = {
    'preprocessor_config.json': dict(
        image_processor_type='CLIPImageProcessor', do_resize=True, size={'shortest_edge': 30}, resample=3, do_center_crop=True,
        crop_size={'height': 30, 'width': 30}, do_rescale=True, rescale_factor=1 / 255, do_normalize=True, do_convert_rgb=True,
        image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711],
    )
}  # fmt: skip


def transformer(seed, **config):
    sizes = dict(
        patch_size=[1, 2, 2], num_attention_heads=3, attention_head_dim=20, in_channels=4, out_channels=4, text_dim=48, freq_dim=32, ffn_dim=100,
        num_layers=2, rope_max_seq_len=64,
    )  # fmt: skip
    return Part('model', WanTransformer3DModel, sizes | config, seed, 'bf16')


def text_encoder(seed):
    sizes = dict(
        vocab_size=VOCABULARY, d_model=48, d_kv=12, d_ff=80, num_layers=3, num_heads=5, relative_attention_num_buckets=12,
        relative_attention_max_distance=20, feed_forward_proj='gated-gelu', dense_act_fn='gelu_new', is_gated_act=True,
        is_encoder_decoder=True, tie_word_embeddings=False,
    )  # fmt: skip
    return Part('model', UMT5EncoderModel, sizes, seed, 'bf16', {'shared': 3.0, 'relative_attention_bias': 4.0})


def image_encoder(seed):
    sizes = dict(
        hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=2, image_size=30, patch_size=10, projection_dim=36,
        hidden_act='gelu', layer_norm_eps=1e-5,
    )  # fmt: skip
    return Part('model', CLIPVisionModel, sizes, seed, 'bf16')


def vae(seed, **config):
    sizes = dict(
        base_dim=8, z_dim=4, dim_mult=[1, 2, 3], num_res_blocks=1, attn_scales=[], temperal_downsample=[False, True],
        latents_mean=[-0.75, 0.5, 1.25, 0.1], latents_std=[2.5, 1.5, 0.75, 3.0], scale_factor_temporal=2, scale_factor_spatial=4,
    )  # fmt: skip
    return Part('model', AutoencoderKLWan, sizes | config, seed, 'f16', {'decoder.conv_out': 0.5})


def pipeline(name, image_encoder=False, transformer_2=False, **settings):
    seeing = dict(
        image_encoder=('transformers', 'CLIPVisionModel') if image_encoder else None,
        image_processor=('transformers', 'CLIPImageProcessor') if image_encoder else None,
    )
    return index(
        name,
        tokenizer=('transformers', 'T5TokenizerFast'),
        text_encoder=('transformers', 'UMT5EncoderModel'),
        **({} if name == 'WanPipeline' else seeing),
        transformer=('diffusers', 'WanTransformer3DModel'),
        transformer_2=('diffusers', 'WanTransformer3DModel') if transformer_2 else None,
        vae=('diffusers', 'AutoencoderKLWan'),
        scheduler=('diffusers', 'UniPCMultistepScheduler'),
    ) | {'boundary_ratio': None, 'expand_timesteps': False, **settings}


WAN = {
    'wan': Checkpoint(
        {
            'tokenizer': Part('copy', source='flux/tokenizer_2'),
            'text_encoder': text_encoder(151),
            'transformer': transformer(152),
            'vae': vae(153),
            'scheduler': Part('scheduler', 'UniPCMultistepScheduler', SCHEDULE),
        },
        pipeline('WanPipeline'),
    ),
    # Two transformers, of which the second computes below the boundary.
    'wan-experts': Checkpoint({'transformer_2': transformer(154)}, pipeline('WanPipeline', transformer_2=True, boundary_ratio=0.7)),
    # An image in the input, and two images through a vision encoder.
    'wan-image': Checkpoint(
        {
            'image_encoder': image_encoder(156),
            'image_processor': Part('file', config=PROCESSOR),
            'transformer': transformer(155, in_channels=10, image_dim=48, added_kv_proj_dim=60, pos_embed_seq_len=20),
        },
        pipeline('WanImageToVideoPipeline', image_encoder=True),
    ),
    'wan-image-plain': Checkpoint({'transformer': transformer(157, in_channels=10)}, pipeline('WanImageToVideoPipeline')),
    # The autoencoder of Wan 2.2, with patches of pixels and shortcuts; each frame of latents has a time of its own.
    'wan-residual': Checkpoint(
        {'transformer': transformer(158, in_channels=6, out_channels=6)}, pipeline('WanPipeline', expand_timesteps=True)
    ),
    # The first frame is the image itself, and has the time 0.
    'wan-frames': Checkpoint(
        {'': Part('file', config={'svc.json': {'num_frames': 5}})},
        pipeline('WanImageToVideoPipeline', expand_timesteps=True),
    ),
}

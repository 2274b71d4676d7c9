"""Tiny ControlNets for the UNets of test/golden/image/checkpoints."""

from diffusers import ControlNetModel

from image_part import Checkpoint, Part


def controlnet(seed, dtype='f16', **config):
    standard = dict(layers_per_block=1, norm_num_groups=8, cross_attention_dim=64, attention_head_dim=2)
    return Checkpoint({'': Part('model', ControlNetModel, standard | config, seed, dtype)})


SD1 = dict(
    block_out_channels=(16, 32, 32),
    down_block_types=('CrossAttnDownBlock2D', 'CrossAttnDownBlock2D', 'DownBlock2D'),
)
TWO = dict(
    block_out_channels=(16, 24), down_block_types=('CrossAttnDownBlock2D', 'DownBlock2D'),
    conditioning_embedding_out_channels=(4, 8, 4),
)  # fmt: skip
XL = dict(
    block_out_channels=(16, 32), down_block_types=('DownBlock2D', 'CrossAttnDownBlock2D'), attention_head_dim=[1, 2],
    transformer_layers_per_block=[1, 2], use_linear_projection=True, cross_attention_dim=128,
    addition_embed_type='text_time', addition_time_embed_dim=8, projection_class_embeddings_input_dim=48 + 6 * 8,
    conditioning_embedding_out_channels=(8, 20),
)  # fmt: skip
CONTROL = {
    'controlnet-sd1': controlnet(70, conditioning_embedding_out_channels=(4, 8, 12), **SD1),
    'controlnet-sd1-bgr': controlnet(
        71, controlnet_conditioning_channel_order='bgr', mid_block_type='UNetMidBlock2D',
        conditioning_embedding_out_channels=(8, 4, 20), **SD1,
    ),
    'controlnet-inpaint': controlnet(73, layers_per_block=2, **TWO),
    'controlnet-lcm': controlnet(74, **TWO),
    'controlnet-sdxl': controlnet(72, 'bf16', **XL),
}

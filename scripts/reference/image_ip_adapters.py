"""Makes the tiny IP-Adapters and their image encoder:  python scripts/reference/image_ip_adapters.py

checkpoints/ip-adapters: `sd1` projects the embedding of an image to four tokens, `sd1-plus` gathers five from its states by learned
queries, `sdxl` is for the UNet of `sdxl`; checkpoints/image-encoder is a CLIPVisionModelWithProjection with nine patches.
"""

import torch
from diffusers import DDIMScheduler, StableDiffusionPipeline
from safetensors.torch import save_file
from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModelWithProjection

from image_checkpoints import FOLDERS, draw, save_transformers
from image_golden import loaded, write_case
from image_part import Part

ADAPTERS, ENCODER = FOLDERS / 'ip-adapters', FOLDERS / 'image-encoder'
HIDDEN, PROJECTION, HEAD = 48, 36, 64
CONFIG = dict(
    hidden_size=HIDDEN, intermediate_size=80, num_hidden_layers=3, num_attention_heads=2, image_size=30, patch_size=10,
    projection_dim=PROJECTION, hidden_act='gelu', layer_norm_eps=1e-5,
)  # fmt: skip


def load(pipe, name):
    """Gives a pipeline the encoder and an adapter, as its load_ip_adapter takes them."""
    pipe.register_modules(image_encoder=loaded(ENCODER))
    side = CONFIG['image_size']
    pipe.register_modules(feature_extractor=CLIPImageProcessor(size=side, crop_size=side))
    pipe.load_ip_adapter(ADAPTERS, subfolder='', weight_name=f'{name}.safetensors', image_encoder_folder=None)


def adapter(unet, seed, projection):
    """Tensors of an adapter; its numbers count the cross-attentions of the UNet, and `projection` makes those of the tokens."""
    generator = torch.Generator().manual_seed(seed)

    def rows(*shape, gain=1.0):
        return torch.randn(*shape, generator=generator) * gain / shape[-1] ** 0.5

    state = {f'image_proj.{name}': tensor for name, tensor in projection(rows).items()}
    crossed = [module for name, module in attentions(unet) if name.endswith('attn2')]
    for i, module in enumerate(crossed):
        for part in ('k', 'v'):
            weight = getattr(module, f'to_{part}').weight
            state[f'ip_adapter.{2 * i + 1}.to_{part}_ip.weight'] = rows(*weight.shape, gain=1.5)
    return {name: tensor.half().contiguous() for name, tensor in state.items()}


def attentions(unet):
    modules = dict(unet.named_modules())
    return [(name.removesuffix('.processor'), modules[name.removesuffix('.processor')]) for name in unet.attn_processors]


def projected(tokens, columns):
    def make(rows):
        return {
            'proj.weight': rows(tokens * columns, PROJECTION), 'proj.bias': rows(tokens * columns),
            'norm.weight': 1 + rows(columns), 'norm.bias': rows(columns),
        }  # fmt: skip

    return make


def gathered(tokens, columns, width, heads, layers=4):
    inner = heads * HEAD

    def make(rows):
        state = {
            'latents': rows(1, tokens, width), 'proj_in.weight': rows(width, HIDDEN), 'proj_in.bias': rows(width),
            'proj_out.weight': rows(columns, width), 'proj_out.bias': rows(columns),
            'norm_out.weight': 1 + rows(columns), 'norm_out.bias': rows(columns),
        }  # fmt: skip
        for i in range(layers):
            for norm in ('0.norm1', '0.norm2', '1.0'):
                state |= {f'layers.{i}.{norm}.weight': 1 + rows(width), f'layers.{i}.{norm}.bias': rows(width)}
            state |= {
                f'layers.{i}.0.to_q.weight': rows(inner, width), f'layers.{i}.0.to_kv.weight': rows(2 * inner, width),
                f'layers.{i}.0.to_out.weight': rows(width, inner), f'layers.{i}.1.1.weight': rows(4 * width, width),
                f'layers.{i}.1.3.weight': rows(width, 4 * width),
            }  # fmt: skip
        return state

    return make


@torch.no_grad()
def write_modules(unets):
    """Tokens of each adapter, as the projections of diffusers make them."""
    for name, unet, shape in (('sd1', 'sd1', (1, 1)), ('sd1-plus', 'sd1', (2, 10)), ('sdxl', 'sdxl', (2, 1))):
        pipe = StableDiffusionPipeline(None, None, None, unets[unet], DDIMScheduler(), None, None, requires_safety_checker=False)
        load(pipe, name)
        columns = HIDDEN if 'plus' in name else PROJECTION
        encoded = torch.randn(*shape, columns, generator=torch.Generator().manual_seed(86))
        layer = pipe.unet.encoder_hid_proj.image_projection_layers[0].float()
        tokens = layer(encoded if 'plus' in name else encoded.squeeze(1))
        document = {'class': type(layer).__name__, 'checkpoint': f'checkpoints/ip-adapters/{name}.safetensors', 'unet': f'checkpoints/{unet}/unet'}
        write_case(f'ip-adapter-{name}', 'image_ip_adapters.py', document, {'encoded': encoded}, {'tokens': tokens})


if __name__ == '__main__':
    part = Part('model', CLIPVisionModelWithProjection, CONFIG, 95)
    model = CLIPVisionModelWithProjection(CLIPVisionConfig(**CONFIG))
    model.vision_model.embeddings.class_embedding.data.normal_(generator=torch.Generator().manual_seed(96))
    whole = model.vision_model.embeddings.class_embedding.data.clone()
    parameters = model.vision_model.embeddings._parameters
    own = parameters.pop('class_embedding')
    draw(model, 95)
    parameters['class_embedding'] = own
    own.data = whole
    save_transformers(ENCODER, model, part)
    ADAPTERS.mkdir(parents=True, exist_ok=True)
    unets = {name: loaded(FOLDERS / name / 'unet') for name in ('sd1', 'sdxl')}
    save_file(adapter(unets['sd1'], 97, projected(4, 64)), ADAPTERS / 'sd1.safetensors')
    save_file(adapter(unets['sd1'], 98, gathered(5, 64, 40, 1)), ADAPTERS / 'sd1-plus.safetensors')
    save_file(adapter(unets['sdxl'], 99, projected(4, 128)), ADAPTERS / 'sdxl.safetensors')
    write_modules(unets)

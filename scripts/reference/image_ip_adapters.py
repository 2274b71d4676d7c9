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
from recipe import Draws, keep

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


def save_adapter(path, unet, seed, projection):
    """An adapter, whose numbers count the cross-attentions of the UNet; `projection` has the shapes of what makes the tokens."""
    draws = Draws(seed)

    def rows(name, shape, gain=1.0):
        is_norm = len(shape) == 1 and name.endswith('.weight')
        return draws(name, shape, gain / shape[-1] ** 0.5, 1.0 if is_norm else 0.0)

    state = {name: rows(name, shape) for name, shape in (('image_proj.' + name, shape) for name, shape in projection.items())}
    crossed = [module for name, module in attentions(unet) if name.endswith('attn2')]
    for i, module in enumerate(crossed):
        for part, gain in (('k', 1.0), ('v', 0.5)):  # more would blow up roundings of the picture's resizing
            weight = getattr(module, f'to_{part}').weight
            name = f'ip_adapter.{2 * i + 1}.to_{part}_ip.weight'
            state[name] = rows(name, weight.shape, gain)
    save_file({name: tensor.half().contiguous() for name, tensor in state.items()}, path)
    keep(path, draws)


def attentions(unet):
    modules = dict(unet.named_modules())
    return [(name.removesuffix('.processor'), modules[name.removesuffix('.processor')]) for name in unet.attn_processors]


def projected(tokens, columns):
    return {'proj.weight': (tokens * columns, PROJECTION), 'proj.bias': (tokens * columns,), 'norm.weight': (columns,), 'norm.bias': (columns,)}


def gathered(tokens, columns, width, heads, layers=4):
    inner = heads * HEAD
    shapes = {
        'latents': (1, tokens, width), 'proj_in.weight': (width, HIDDEN), 'proj_in.bias': (width,), 'proj_out.weight': (columns, width),
        'proj_out.bias': (columns,), 'norm_out.weight': (columns,), 'norm_out.bias': (columns,),
    }  # fmt: skip
    for i in range(layers):
        for norm in ('0.norm1', '0.norm2', '1.0'):
            shapes |= {f'layers.{i}.{norm}.weight': (width,), f'layers.{i}.{norm}.bias': (width,)}
        shapes |= {
            f'layers.{i}.0.to_q.weight': (inner, width), f'layers.{i}.0.to_kv.weight': (2 * inner, width),
            f'layers.{i}.0.to_out.weight': (width, inner), f'layers.{i}.1.1.weight': (4 * width, width),
            f'layers.{i}.1.3.weight': (width, 4 * width),
        }  # fmt: skip
    return shapes


@torch.no_grad()
def write_modules(unets):
    """Tokens of each adapter, as the projections of diffusers make them."""
    for name, unet, shape in (('sd1', 'sd1', (1, 1)), ('sd1-plus', 'sd1', (2, 10)), ('sdxl', 'sdxl', (2, 1))):
        pipe = StableDiffusionPipeline(None, None, None, unets[unet], DDIMScheduler(), None, None, requires_safety_checker=False)
        load(pipe, name)
        columns = HIDDEN if 'plus' in name else PROJECTION
        draws = Draws(86)
        encoded = draws('encoded', (*shape, columns), 1)
        layer = pipe.unet.encoder_hid_proj.image_projection_layers[0].float()
        tokens = layer(encoded if 'plus' in name else encoded.squeeze(1))
        document = {'class': type(layer).__name__, 'checkpoint': f'checkpoints/ip-adapters/{name}.safetensors', 'unet': f'checkpoints/{unet}/unet'}
        write_case(f'ip-adapter-{name}', 'image_ip_adapters.py', document, {'encoded': encoded}, {'tokens': tokens}, draws)


if __name__ == '__main__':
    model = CLIPVisionModelWithProjection(CLIPVisionConfig(**CONFIG))
    parameters = model.vision_model.embeddings._parameters
    own = parameters.pop('class_embedding')
    draws = draw(model, 127)
    parameters['class_embedding'] = own
    own.data = draws('vision_model.embeddings.class_embedding', own.shape, 1)
    save_transformers(ENCODER, model, Part('model', CLIPVisionModelWithProjection, CONFIG, 127))
    keep(ENCODER / 'model.safetensors', draws)
    ADAPTERS.mkdir(parents=True, exist_ok=True)
    unets = {name: loaded(FOLDERS / name / 'unet') for name in ('sd1', 'sdxl')}
    save_adapter(ADAPTERS / 'sd1.safetensors', unets['sd1'], 97, projected(4, 64))
    save_adapter(ADAPTERS / 'sd1-plus.safetensors', unets['sd1'], 98, gathered(5, 64, 40, 1))
    save_adapter(ADAPTERS / 'sdxl.safetensors', unets['sdxl'], 99, projected(4, 128))
    write_modules(unets)

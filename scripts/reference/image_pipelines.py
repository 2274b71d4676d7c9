"""Goldens of whole pipelines on the tiny checkpoints:  python scripts/reference/image_pipelines.py [case ...]

test/golden/image/<case>/: case.json says the pipeline's class, the checkpoint, the arguments of the call, the
seeds (one generator a picture, on the CPU) and the schedule. inputs.safetensors, where a picture goes in: `image` u8
[height, width, 3], `mask` u8 [height, width]. outputs.safetensors: `latents_k` after the last step k, and `pixels` u8 [pictures, height, width, 3],
of clips [pictures, frames, height, width, 3].
trace.safetensors, which git ignores, is for whoever looks for a difference: what entered and left the denoiser at its first call (`denoiser_…`, the
unconditional half first, in Z-Image the conditional one; text once a prompt), the latents after each step, and `image` f32 [pictures, 3, height, width] in 0..1. With `noise` cuda the first latents are those of torch's CUDA
generator, from noise.py. With `emphasis` the texts have weights and windows, which image_emphasis.py makes states of. `f32_rounding` is how far other convolution and matrix kernels of the same machine move latents and image, at most.
"""

import importlib
import json
import sys
from types import SimpleNamespace

import diffusers
import numpy as np
import torch
from PIL import Image
from transformers import AutoTokenizer, CLIPTokenizer, Qwen2VLProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from image_checkpoints import FOLDERS, ROOT
from image_emphasis import embeddings
from image_golden import distance, loaded, write, write_case
from image_pipeline_cases import PIPELINES
from image_ip_adapters import load as load_ip_adapter
from image_words import load as load_words
from noise import cuda

# Equal for all images of one prompt, so it is stored once.
PROMPTED = {'denoiser_encoder_hidden_states', 'denoiser_text_embeds', 'denoiser_time_ids'}


def picture(height=40, width=56):
    """Returns a test image: a smooth gradient with a disc and noise."""
    y, x = np.mgrid[0:height, 0:width]
    grain = np.random.default_rng(1).integers(-12, 13, (height, width, 3))
    disc = ((y - 15) ** 2 + (x - 35) ** 2 < 100)[..., None] * np.array([90, -60, -80])
    field = np.stack([x * 3 + 40, y * 4 + 30, 200 - x - y], -1)
    return np.clip(field + disc + grain, 0, 255).astype(np.uint8)


def mask(height=40, width=56):
    """White is drawn anew; greys on both sides of the middle."""
    values = np.zeros((height, width), np.uint8)
    values[9:31, 14:43] = 255
    values[12:20, 5:14], values[20:28, 43:50] = 200, 100
    return values


def further(case):
    """Returns more test images, of other sides and colours."""
    height, width = (case.sides[0], case.sides[1] + 20) if case.sides else (30, 60)
    return [picture(height + 9 * i, width - 9 * i)[:, ::-1, [2, 0, 1]].copy() for i in range(case.further)]


def control(case):
    """Returns pictures for ControlNets, each of other sides and colours; those of a picture that is cropped have its sides."""
    sides = [(40, 56) if 'padding_mask_crop' in case.arguments else (33 + 9 * i, 62 - 7 * i) for i in range(case.controls)]
    return [picture(*side)[::-1, :, [1, 2, 0]].copy() for side in sides]


def shown():
    """Returns the picture of an image prompt."""
    return picture(47, 71)[:, ::-1, [1, 0, 2]].copy()


def last_picture():
    """Returns the picture of a last frame."""
    return picture(50, 70)[::-1, :, [2, 0, 1]].copy()


def part(name, source):
    folder = FOLDERS / source
    if name.startswith('tokenizer'):
        return (AutoTokenizer if source.startswith(('qwen', 'wan', 'ltx')) or source.endswith('_2') else CLIPTokenizer).from_pretrained(folder)
    if name == 'processor':
        tokenizer = AutoTokenizer.from_pretrained(FOLDERS / 'qwen-image' / 'tokenizer')
        images = Qwen2VLImageProcessorPil(**json.loads((folder / 'preprocessor_config.json').read_text()))
        return images_only(images, tokenizer)
    if name == 'scheduler':
        config = json.loads((folder / 'scheduler_config.json').read_text())
        return getattr(diffusers, config['_class_name']).from_config(config)
    return loaded(folder)


def opened(case):
    parts = {name: part(name, source) for name, source in case.components.items()}
    if case.checkpoint == 'sd3-dual':  # diffusers wants to be told of components that are absent
        parts |= dict(text_encoder_3=None, tokenizer_3=None)
    if case.model == 'Flux2Pipeline':  # the class of its processor needs torchvision
        parts['tokenizer'] = None
    nets = [parts.pop(name) for name in list(parts) if name.startswith('controlnet')]
    if nets:
        parts['controlnet'] = nets if len(nets) > 1 else nets[0]
    if 'Edit' in case.model:
        parts['processor'] = part('processor', f'{case.checkpoint}/processor')
        smaller_areas(case.model)
    if 'Kontext' in case.model:
        smaller_sizes(case.model)
    if case.model == 'WanImageToVideoPipeline':
        unmended_texts(case.model)
    # Wan's transformer has modules that are kept in f32, which needs the other way.
    options = dict(dtype=torch.float32, low_cpu_mem_usage=draws_clips(case), **parts)
    pipe = getattr(diffusers, case.model).from_pretrained(FOLDERS / case.checkpoint, **options)
    if 'Edit' in case.model:
        counting_positions(pipe.text_encoder)
    if case.model == 'Flux2Pipeline':
        pipe.tokenizer = AutoTokenizer.from_pretrained(FOLDERS / case.checkpoint / 'tokenizer')  # gives the same ids
    if 'Chroma' in case.model:
        boolean_masks(pipe)
    load_words(pipe, case.words)
    if case.image_prompt:
        load_ip_adapter(pipe, case.image_prompt)
        pipe.set_ip_adapter_scale(case.image_scale)
    if case.model == 'StableDiffusion3InpaintPipeline':
        shifted_decoding(pipe)
    if case.scheduler:
        pipe.scheduler = getattr(diffusers, case.scheduler).from_config(pipe.scheduler.config, **case.settings)
    if 'clip_skip' in case.arguments and 'text_encoder_3' not in pipe.components:  # diffusers looks for the norm where transformers 4 had it
        object.__setattr__(pipe.text_encoder, 'text_model', pipe.text_encoder)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def unmended_texts(model):
    """The class of diffusers 0.42.1 needs the library ftfy, which mends broken characters: these texts have none."""
    importlib.import_module(getattr(diffusers, model).__module__).ftfy = SimpleNamespace(fix_text=lambda text: text)


def draws_clips(case):
    return case.model.startswith(('Wan', 'LTX', 'HunyuanVideo'))


def shifted_decoding(pipe):
    """Latents are moved back by the shift before they are decoded, as in the other classes of Stable Diffusion 3: the class for inpainting
    of diffusers 0.42.1 leaves it out, and so changes the colours of what it keeps."""
    own = pipe.vae.decode
    pipe.vae.decode = lambda latents, **options: own(latents + pipe.vae.config.shift_factor, **options)


def images_only(images, tokenizer):
    """A processor without its part for videos, which needs torchvision."""
    made = object.__new__(Qwen2VLProcessor)
    made.image_processor, made.tokenizer, made.chat_template = images, tokenizer, None
    made.image_token, made.video_token = '<|image_pad|>', '<|video_pad|>'
    made.image_token_id, made.video_token_id = tokenizer.convert_tokens_to_ids(made.image_token), -1
    return made


def smaller_areas(model):
    """Images are edited at the size of the tiny checkpoint's svc.json instead of 1024 × 1024."""
    module = importlib.import_module(getattr(diffusers, model).__module__)
    if not hasattr(module, 'ownDimensions'):
        module.ownDimensions = module.calculate_dimensions
        module.calculate_dimensions = lambda area, ratio: module.ownDimensions(area * (80 / 1024) ** 2, ratio)


def smaller_sizes(model):
    """Images are seen in sizes of a sixteenth, as the tiny checkpoint's svc.json says."""
    module = importlib.import_module(getattr(diffusers, model).__module__)
    if not hasattr(module, 'own_sizes'):
        module.own_sizes = module.PREFERRED_KONTEXT_RESOLUTIONS
        module.PREFERRED_KONTEXT_RESOLUTIONS = [(width // 16, height // 16) for width, height in module.own_sizes]


def boolean_masks(pipe):
    """Masks that mask, with which Chroma was trained: diffusers 0.42.1 adds their numbers to the scores (its issue 13619)."""
    pipe.transformer.register_to_config(guidance_embeds=False)  # which the pipeline of inpainting reads, and the class does not have
    own = pipe._prepare_attention_mask
    pipe._prepare_attention_mask = lambda *places, **named: None if (mask := own(*places, **named)) is None else mask.bool()


def counting_positions(encoder):
    """Positions of time, height and width, with which Qwen2.5-VL was trained: transformers 5 counts them only where it is told the
    types of the tokens, which diffusers 0.42.1 leaves out."""
    own = encoder.forward
    encoder.forward = lambda input_ids, **others: own(
        input_ids, mm_token_type_ids=(input_ids == encoder.config.image_token_id).int(), **others
    )


def tensors_of(prefix, value):
    """Names and tensors in what a module was called with or gave."""
    if isinstance(value, torch.Tensor):
        yield prefix, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_of(f'{prefix}_{key}' if key != 'added_cond_kwargs' else prefix, item)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from tensors_of(f'{prefix}_{i}' if len(value) > 1 else prefix, item)


def watch(denoiser, pictures, kept):
    """Keeps what goes into and comes out of the first call."""
    names = ('sample', 'timestep', 'encoder_hidden_states')

    def hook(_, arguments, options, result):
        if 'denoiser_output' not in kept and 'denoiser_output_0' not in kept:
            kept.update(tensors_of('denoiser', dict(zip(names, arguments)) | options))
            for name in PROMPTED & kept.keys():
                kept[name] = kept[name][::pictures]
            kept.update(tensors_of('denoiser_output', result))

    return denoiser.register_forward_hook(hook, with_kwargs=True)


def watch_schedule(schedule, after):
    """Calls `after` behind each step, for pipelines without callbacks."""
    own, done = schedule.step, []

    def step(output, timestep, latents, **options):
        result = own(output, timestep, latents, **options)
        after(None, len(done), timestep, {'latents': result[0]})
        done.append(timestep)
        return result

    schedule.step = step


def watch_first_frame(pipe):
    """Returns a list for the latents of a given first frame, which take their place after the last step."""
    own, found = pipe.prepare_latents, []

    def prepared(*arguments, **options):
        result = own(*arguments, **options)
        if isinstance(result, tuple):
            found.append(result[1])
        return result

    pipe.prepare_latents = prepared
    return found


def cuda_latents(pipe, case):
    shape = [1, pipe.unet.config.in_channels, *(case.arguments[side] // pipe.vae_scale_factor for side in ('height', 'width'))]
    count = int(np.prod(shape))
    drawn = cuda(case.seeds[0], [108, 2048], [count], range(count))['tensors'][0]['normals'][:count]
    return torch.tensor(drawn, dtype=torch.float32).reshape(shape)


def unpacked(pipe, case, latents):
    """Latents as [pictures, channels, height, width], of clips [pictures, channels, frames, height, width]; some pipelines keep them in patches."""
    if latents.dim() >= 4:
        return latents
    if case.model.startswith('LTX'):
        sides = (case.arguments[side] // pipe.vae_spatial_compression_ratio for side in ('height', 'width'))
        frames = (case.arguments['num_frames'] - 1) // pipe.vae_temporal_compression_ratio + 1
        return pipe._unpack_latents(latents, frames, *sides)
    height, width = (case.arguments.get(side) or size for side, size in zip(('height', 'width'), case.size or picture().shape))
    if hasattr(pipe, '_unpack_latents_with_ids'):
        side = 2 * pipe.vae_scale_factor
        return latents.transpose(1, 2).unflatten(2, (height // side, width // side))
    return pipe._unpack_latents(latents, height, width, pipe.vae_scale_factor).squeeze(2)


@torch.no_grad()
def run(case):
    pipe = opened(case)
    kept, timesteps = {}, []
    given_frame = watch_first_frame(pipe) if draws_clips(case) and getattr(pipe.config, 'expand_timesteps', False) else []
    watch(pipe.transformer if hasattr(pipe, 'transformer') else pipe.unet, len(case.seeds), kept)

    def after(_, step, timestep, tensors):
        kept[f'latents_{step + 1}'] = unpacked(pipe, case, tensors['latents']).clone()
        timesteps.append(float(timestep))
        return {}

    given = {'image': Image.fromarray(picture(*case.sides))} if case.picture else {}
    if case.further and case.mask:
        given['image_reference'] = Image.fromarray(further(case)[0])
    elif case.further:
        given['image'] = [*map(Image.fromarray, further(case)), given['image']]
    if case.last:
        given['last_image'] = Image.fromarray(last_picture())
    if case.mask:
        given['mask_image'] = Image.fromarray(mask())
    if case.controls:
        images = [*map(Image.fromarray, control(case))]
        name = 'control_image' if case.picture or 'FluxControl' in case.model else 'image'
        given[name] = images if len(images) > 1 else images[0]
    if case.image_prompt:
        given['ip_adapter_image'] = Image.fromarray(shown())
    if case.noise == 'cuda':
        given['latents'] = cuda_latents(pipe, case)
    texts = embeddings(pipe, case.emphasis) if case.emphasis else {}
    others = {key: value for key, value in case.arguments.items() if key not in case.emphasis}
    generators = [torch.Generator('cpu').manual_seed(seed) for seed in case.seeds]
    one = generators[0] if case.model.startswith('LTX') else generators  # those classes take no lists everywhere
    count = {'num_videos_per_prompt' if draws_clips(case) else 'num_images_per_prompt': len(generators)}
    # Only pictures are laid back into the one they were cut out of.
    kind = 'pil' if 'padding_mask_crop' in case.arguments else 'np'
    watching = {'callback_on_step_end': after}
    if 'PixArt' in case.model:  # has the callback of older pipelines
        watching = {'callback': lambda step, timestep, latents: after(pipe, step, timestep, {'latents': latents})}
    if 'HunyuanVideo' in case.model:
        watch_schedule(pipe.scheduler, after)
        watching = {}
    out = pipe(**others, **texts, **given, **count, **watching, generator=one, output_type=kind)
    made = out.frames if draws_clips(case) else out.images
    images = np.stack([np.asarray(one) / 255.0 for one in made]) if kind == 'pil' else made
    kept['image'] = torch.from_numpy(images).movedim(-1, 1)
    if given_frame:
        kept[f'latents_{len(timesteps)}'][:, :, :1] = given_frame[0]
    kept['pixels'] = torch.from_numpy((images * 255).round().astype(np.uint8))
    return pipe, {key: tensor.detach().clone() for key, tensor in kept.items()}, timesteps


def make(name):
    case = PIPELINES[name]
    pipe, result, timesteps = run(case)
    with torch.backends.mkldnn.flags(enabled=False):
        other = run(case)[1]
    last = f'latents_{len(timesteps)}'
    rounding = {key: float(f'{distance(result[key], other[key]):.1e}') for key in (last, 'image')}
    document = {
        'class': case.model,
        'checkpoint': f'checkpoints/{case.checkpoint}',
        'components': {key: f'checkpoints/{place}' for key, place in case.components.items()},
        'exercises': case.exercises,
        **({'words': [f'checkpoints/words/{name}.safetensors' for name in case.words]} if case.words else {}),
        **({'image_prompt': f'checkpoints/ip-adapters/{case.image_prompt}.safetensors', 'image_scale': case.image_scale} if case.image_prompt else {}),
        'arguments': case.arguments,
        'seeds': case.seeds,
        **({} if case.noise == 'cpu' else {'noise': case.noise}),
        **({'emphasis': case.emphasis} if case.emphasis else {}),
        'scheduler': {'class': type(pipe.scheduler).__name__, 'replaces': bool(case.scheduler)},
        'timesteps': timesteps,
        'f32_rounding': rounding,
    }
    document['scheduler']['config'] = {key: v for key, v in pipe.scheduler.config.items() if not key.startswith('_')}
    inputs = {'image': torch.from_numpy(picture(*case.sides))} if case.picture else {}
    for i, more in enumerate(further(case)):
        inputs[f'further_{i}'] = torch.from_numpy(more)
    if case.image_prompt:
        inputs['image_prompt'] = torch.from_numpy(shown())
    for i, one in enumerate(control(case)):
        inputs[f'control_{i}'] = torch.from_numpy(one)
    if case.last:
        inputs['last_image'] = torch.from_numpy(last_picture())
    if case.mask:
        inputs['mask'] = torch.from_numpy(mask())
    outputs = {key: result[key] for key in (last, 'pixels')}
    write(ROOT / name / 'trace.safetensors', result)
    write_case(name, 'image_pipelines.py', document, inputs, outputs)
    image, latents = result['image'], result[last]
    clipped = ((image == 0) | (image == 1)).float().mean()
    print(
        f'{name:24} {last} std {latents.std():6.3f}  image std {image.std():.3f} clipped {clipped:.3f}  {rounding}',
        flush=True,
    )
    print('   ', {key: list(tensor.shape) for key, tensor in outputs.items()}, timesteps)


if __name__ == '__main__':
    for name in sys.argv[1:] or PIPELINES:
        make(name)

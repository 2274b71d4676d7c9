"""The module cases of test/golden/image: which checkpoint, what goes in, which results are kept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

import torch
from diffusers import Flux2KleinPipeline
from PIL import Image
from transformers import AutoTokenizer, CLIPTokenizer
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from image_checkpoints import FOLDERS
from image_configs import BOS_ID, EOS_ID, VOCABULARY
from image_configs_qwen import IMAGE_PAD, VISION_END, VISION_START
from image_tokenizer import PROMPTS
from recipe import Draws

DRAWS = Draws(1)  # of all inputs, which recipes stand for


@dataclass
class Case:
    checkpoint: str  # folder of the component
    exercises: str
    inputs: Callable
    outputs: Callable
    config: dict = field(default_factory=dict)


def normal(seed, *shape, deviation=1.0, mean=0.0):
    return DRAWS(f'{seed} {shape}', shape, deviation, mean)


def prompt_ids(checkpoint, numbers, above_eos=False):
    """Padded rows of 77 ids; `above_eos` puts an id that no tokenizer gives before EOS of the first row."""
    tokenizer = CLIPTokenizer.from_pretrained(FOLDERS / checkpoint / 'tokenizer')
    texts = [PROMPTS[number] for number in numbers]
    ids = torch.tensor(tokenizer(texts, padding='max_length', truncation=True).input_ids)
    assert ids[0, 0] == BOS_ID and (ids == EOS_ID).any(1).all()
    if above_eos:
        ids[0, 3] = VOCABULARY - 1
    return {'input_ids': ids}


def text_outputs(model, input_ids, backs=(2,)):
    """hidden_k: hidden_states[-k], without the final norm; hidden_k_normed: with it, as clip_skip takes it."""
    out = model(input_ids, output_hidden_states=True)
    norm = getattr(model, 'text_model', model).final_layer_norm
    kept = {'last_hidden_state': out.last_hidden_state}
    for back in backs:
        kept[f'hidden_{back}'] = out.hidden_states[-back]
        kept[f'hidden_{back}_normed'] = norm(out.hidden_states[-back])
    if 'text_embeds' in out:
        return kept | {'text_embeds': out.text_embeds}
    return kept | {'pooler_output': out.pooler_output}


def unet_inputs(seed, channels, height, width, columns, batch=2, tokens=77, **more):
    def make():
        return {
            'sample': normal(seed, batch, channels, height, width),
            'timestep': torch.tensor([981.0, 37.0, 500.0][:batch]),
            'encoder_hidden_states': normal(seed + 1, batch, tokens, columns),
            **{name: value() for name, value in more.items()},
        }

    return make


def unet_outputs(model, sample, timestep, encoder_hidden_states, timestep_cond=None, **added):
    options = {'added_cond_kwargs': added} if added else {}
    out = model(sample, timestep, encoder_hidden_states, timestep_cond=timestep_cond, **options)
    return {'sample': out.sample}


def control_inputs(seed, height, width, columns, factor, batch=2, **more):
    """What a UNet takes, and an image of 0..1 for all items."""
    hint = {'controlnet_cond': lambda: normal(seed + 3, 1, 3, height * factor, width * factor, deviation=0.2, mean=0.5)}
    return unet_inputs(seed, 4, height, width, columns, batch, **hint, **more)


def control_outputs(model, sample, timestep, encoder_hidden_states, controlnet_cond, **added):
    image = controlnet_cond.expand(sample.shape[0], -1, -1, -1)
    options = {'added_cond_kwargs': added} if added else {}
    out = model(sample, timestep, encoder_hidden_states, image, **options)
    return {f'down_{i}': one for i, one in enumerate(out.down_block_res_samples)} | {'mid': out.mid_block_res_sample}


def clip_vision_outputs(model, pixels):
    out = model(pixels, output_hidden_states=True)
    return {'image_embeds': out.image_embeds, 'hidden_2': out.hidden_states[-2]}


def decode(model, latents):
    return {'sample': model.decode(latents).sample}


def encode(model, sample):
    """Mean and logarithm of the variance, one after the other over channels; the latter clamped to -30..20."""
    distribution = model.encode(sample).latent_dist
    return {'moments': distribution.parameters, 'mean': distribution.mean, 'logvar': distribution.logvar}


def z_image_inputs(seed, height, width, captions):
    """One latent per caption; captions are lists of feature rows of different lengths."""

    def make():
        features = {f'cap_feats_{i}': normal(seed + i, rows, 64, deviation=2) for i, rows in enumerate(captions)}
        latents = normal(seed + 9, len(captions), 16, height, width)
        return {'latents': latents, 'timestep': torch.linspace(0.05, 0.7, len(captions)), **features}

    return make


def z_image_outputs(model, latents, timestep, **features):
    """The velocity as the module gives it; the pipeline negates it."""
    out = model(list(latents.unsqueeze(2)), timestep, list(features.values()), return_dict=False)[0]
    return {'sample': torch.stack(out).squeeze(2)}


def lumina2_inputs(seed, height, width, counts):
    """Latents of two images at two times, 0 … 1, each with states of a caption of its own length."""

    def make():
        mask = torch.arange(max(counts))[None] < torch.tensor(counts)[:, None]
        return {
            'latents': normal(seed, 2, 16, height, width),
            'caption': normal(seed + 1, 2, max(counts), 40, deviation=2),
            'mask': mask.long(),
            'timestep': torch.tensor([0.05, 0.7]),
        }

    return make


def lumina2_outputs(model, latents, caption, mask, timestep):
    """The velocity as the module gives it; the pipeline negates it."""
    return {'sample': model(latents, timestep, caption, mask, return_dict=False)[0]}


def qwen_image_inputs(seed, height, width, tokens, references=()):
    """Packed patches of latents and of reference images, states of the text."""

    def make():
        sides = [(height, width), *references]
        patches = [normal(seed + i, 1, rows * columns, 16) for i, (rows, columns) in enumerate(sides)]
        return {
            'patches': torch.cat(patches, 1),
            'timestep': torch.tensor([0.64]),
            'text': normal(seed + 9, 1, tokens, 64, deviation=2),
            'sides': torch.tensor(sides),
        }

    return make


def qwen_image_outputs(model, patches, timestep, text, sides):
    shapes = [[(1, int(rows), int(columns)) for rows, columns in sides]]
    out = model(patches, text, None, timestep, shapes, return_dict=False)[0]
    return {'sample': out[:, : int(sides[0].prod())]}


def flux_inputs(seed, rows, columns, tokens, text_dims=48, pooled_dims=64, references=()):
    """Packed patches of latents and of reference images; places of all tokens; states of the text."""

    def make():
        sides = [(rows, columns), *references]
        places = [torch.cartesian_prod(torch.tensor([float(i)]), torch.arange(h).float(), torch.arange(w).float()) for i, (h, w) in enumerate(sides)]
        count = sum(h * w for h, w in sides)
        return {
            'patches': normal(seed, 1, count, 64),
            'text': normal(seed + 1, 1, tokens, text_dims, deviation=2),
            'pooled': normal(seed + 2, 1, pooled_dims),
            'timestep': torch.tensor([0.64]),
            'guidance': torch.tensor([3.5]),
            'places': torch.cat(places),
            'sides': torch.tensor(sides),
        }

    return make


def flux_outputs(model, patches, text, pooled, timestep, guidance, places, sides):
    scale = guidance if model.config.guidance_embeds else None
    words = torch.zeros(text.shape[1], 3)
    out = model(patches, text, pooled, timestep, places.to(patches), words.to(patches), scale, return_dict=False)[0]
    return {'sample': out[:, : int(sides[0].prod())]}


def chroma_outputs(model, patches, text, timestep, places, **others):
    words = torch.zeros(text.shape[1], 3)
    out = model(patches, text, timestep, places.to(patches), words.to(patches), return_dict=False)[0]
    return {'sample': out}


def flux2_inputs(seed, rows, columns, tokens, text_dims=96, references=()):
    """Latents and those of reference images; places of all tokens; states of the text."""

    def make():
        sides = [(rows, columns), *references]
        axes = [(torch.tensor([10.0 * i]), torch.arange(h).float(), torch.arange(w).float(), torch.zeros(1)) for i, (h, w) in enumerate(sides)]
        count = sum(h * w for h, w in sides)
        return {
            'patches': normal(seed, 1, count, 16),
            'text': normal(seed + 1, 1, tokens, text_dims, deviation=2),
            'timestep': torch.tensor([0.64]),
            'guidance': torch.tensor([3.5]),
            'places': torch.cat([torch.cartesian_prod(*axis) for axis in axes]),
            'sides': torch.tensor(sides),
        }

    return make


def flux2_outputs(model, patches, text, timestep, guidance, places, sides):
    scale = guidance if model.config.guidance_embeds else None
    words = torch.zeros(text.shape[1], 4)
    words[:, 3] = torch.arange(text.shape[1])
    out = model(patches, text, timestep, places.to(patches), words.to(patches), scale, return_dict=False)[0]
    return {'sample': out[:, : int(sides[0].prod())]}


def sd3_inputs(seed, height, width, tokens, channels=16):
    """Latents of two images at two times, each with states of a text and a pooled state."""
    return lambda: {
        'sample': normal(seed, 2, channels, height, width),
        'text': normal(seed + 1, 2, tokens, 76, deviation=2),
        'pooled': normal(seed + 2, 2, 56),
        'timestep': torch.tensor([640.0, 80.5]),
    }


def sd3_outputs(model, sample, text, pooled, timestep):
    return {'sample': model(sample, text, pooled, timestep, return_dict=False)[0]}


def flux2_decode(model, latents):
    """From the denoiser's latents, as the pipelines take them back."""
    shape = (1, -1, 1, 1)
    spread = torch.sqrt(model.bn.running_var.view(shape) + model.config.batch_norm_eps)
    return {'sample': model.decode(Flux2KleinPipeline._unpatchify_latents(latents * spread + model.bn.running_mean.view(shape))).sample}


def flux2_encode(model, sample):
    shape = (1, -1, 1, 1)
    spread = torch.sqrt(model.bn.running_var.view(shape) + model.config.batch_norm_eps)
    latents = Flux2KleinPipeline._patchify_latents(model.encode(sample).latent_dist.mode())
    return {'latents': (latents - model.bn.running_mean.view(shape)) / spread}


def dc_decode(model, latents):
    return {'sample': model.decode(latents).sample}


def dc_encode(model, sample):
    return {'latents': model.encode(sample).latent}


def sana_inputs(seed, height, width, counts, columns=40):
    """Latents of two images at two times, each with states of a text of its own length."""

    def make():
        mask = torch.arange(max(counts))[None] < torch.tensor(counts)[:, None]
        return {
            'sample': normal(seed, 2, 16, height, width),
            'text': normal(seed + 1, 2, max(counts), columns, deviation=2),
            'mask': mask.long(),
            'timestep': torch.tensor([640.0, 80.5]),
            'guidance': torch.tensor([0.45, 0.1]),
        }

    return make


def sana_outputs(model, sample, text, mask, timestep, guidance):
    scale = guidance if model.config.guidance_embeds else None
    out = model(sample, text, timestep, guidance=scale, encoder_attention_mask=mask, return_dict=False)[0]
    return {'sample': out}


def wan_inputs(seed, channels, frames, height, width, tokens, perFrame=False, images=0):
    """Latents of a clip and states of a text; a time for each frame of latents, the first of which is clean; states of images."""

    def make():
        times = torch.full((frames,), 640.0)
        times[0] = 0.0
        states = {'images': normal(seed + 2, images, 10, 48, deviation=2)} if images else {}
        return {
            'latents': normal(seed, 1, channels, frames, height, width),
            'text': normal(seed + 1, 1, tokens, 48, deviation=2),
            'timestep': times if perFrame else torch.tensor([640.0]),
            **states,
        }

    return make


def wan_outputs(model, latents, text, timestep, images=None):
    """`timestep` is that of the clip, or one for each frame of latents, whose tokens diffusers gives a time each."""
    frames, height, width = latents.shape[2:]
    times = timestep.repeat_interleave(height * width // 4)[None] if len(timestep) > 1 else timestep
    return {'sample': model(latents, times, text, images, return_dict=False)[0]}


def hunyuan_inputs(seed, frames, height, width, counts, image=0):
    """Latents of a clip beside those of given frames and a mask; states of a text and of texts that are to be seen, with padding behind them."""
    tokens = [count + 2 for count in counts]
    return lambda: {
        'latents': normal(seed, 1, 9, frames, height, width),
        'timestep': torch.tensor([640.0]),
        'text': normal(seed + 1, 1, tokens[0], 48, deviation=2),
        'glyphs': normal(seed + 2, 1, tokens[1], 28, deviation=2),
        'counts': torch.tensor(counts),
        **({'image': normal(seed + 3, 1, image, 16), 'timestep_r': torch.tensor([380.0])} if image else {}),
    }


def hunyuan_outputs(model, latents, timestep, text, glyphs, counts, image=None, timestep_r=None):
    masks = [(torch.arange(states.shape[1]) < count)[None].long() for states, count in zip((text, glyphs), counts)]
    states = dict(encoder_hidden_states=text, encoder_attention_mask=masks[0], encoder_hidden_states_2=glyphs, encoder_attention_mask_2=masks[1])
    image = torch.zeros(1, 3, 16).to(latents) if image is None else image
    return {'sample': model(latents, timestep, **states, image_embeds=image, timestep_r=timestep_r, return_dict=False)[0]}


def ltx_inputs(seed, channels, frames, height, width, tokens, words, perFrame=False):
    """Latents of a clip and states of a text with padding behind its words; a time for each frame of latents, the first of which is clean."""

    def make():
        times = torch.full((frames,), 640.0)
        times[0] = 0.0
        return {
            'latents': normal(seed, 1, channels, frames, height, width),
            'text': normal(seed + 1, 1, tokens, 48, deviation=2),
            'mask': (torch.arange(tokens) < words).long()[None],
            'timestep': times if perFrame else torch.tensor([640.0]),
        }

    return make


def ltx_outputs(model, latents, text, mask, timestep):
    """Seconds and pixels of a step of latents: 4 frames of 25 in a second, 16 pixels."""
    frames, height, width = latents.shape[2:]
    times = timestep.repeat_interleave(height * width)[None] if len(timestep) > 1 else timestep
    tokens = latents.flatten(2).transpose(1, 2)
    sides = {'num_frames': frames, 'height': height, 'width': width, 'rope_interpolation_scale': (4 / 25, 16, 16)}
    out = model(tokens, text, times, mask, **sides, return_dict=False)[0]
    return {'sample': out.transpose(1, 2).unflatten(2, (frames, height, width))}


def pixart_inputs(seed, height, width, counts, columns=48):
    """Latents of two images at two times, each with states of a text of its own length; both of one size in pixels."""

    def make():
        mask = torch.arange(max(counts))[None] < torch.tensor(counts)[:, None]
        return {
            'sample': normal(seed, 2, 4, height, width),
            'text': normal(seed + 1, 2, max(counts), columns, deviation=2),
            'mask': mask.long(),
            'timestep': torch.tensor([640.0, 80.5]),
        }

    return make


def pixart_outputs(model, sample, text, mask, timestep):
    """The sides of the image are those of the sample in pixels of 8 to a latent."""
    height, width = (8.0 * side for side in sample.shape[2:])
    sides = torch.tensor([[height, width]]).repeat(2, 1)
    size = {'resolution': sides, 'aspect_ratio': torch.tensor([[height / width]]).repeat(2, 1)}
    more = size if model.use_additional_conditions else {'resolution': None, 'aspect_ratio': None}
    out = model(sample, text, timestep, added_cond_kwargs=more, encoder_attention_mask=mask, return_dict=False)[0]
    return {'sample': out}


def tower_inputs(seed, height, width):
    """An image as bytes, smooth enough that its size matters."""

    def make():
        coarse = normal(seed, 1, 3, 5, 7, deviation=70, mean=128)
        image = torch.nn.functional.interpolate(coarse, (height, width), mode='bicubic').squeeze(0)
        return {'image': image.clamp(0, 255).to(torch.uint8).permute(1, 2, 0).contiguous()}

    return make


def tower_outputs(model, image):
    """`grid` in patches; the values of the first patch as the processor gives them."""
    made = Qwen2VLImageProcessorPil()(Image.fromarray(image.numpy()), return_tensors='pt')
    patches = made['pixel_values'].to(model.dtype)
    rows = model.model.visual(patches, grid_thw=made['image_grid_thw']).pooler_output
    return {'grid': made['image_grid_thw'].float(), 'first_patch': patches[0], 'rows': rows}


def text_with_images(grids):
    """A prompt whose images stand between words; embeddings of the images are given."""

    def make():
        cells = [rows * columns for rows, columns in grids]
        ids = [5, 6, 7, VISION_START]
        for i, count in enumerate(cells):
            ids += [IMAGE_PAD] * count + [VISION_END, 20 + i, 30 + i, VISION_START]
        return {
            'input_ids': torch.tensor([ids[:-1] + [8, 9]]),
            'images': normal(190, sum(cells), 64, deviation=0.6),
            'grids': torch.tensor(grids),
        }

    return make


def multimodal_outputs(model, input_ids, images, grids):
    """`grids` in cells; mm_token_type_ids is what makes transformers 5 count three-part positions."""
    rows = model.model.language_model.embed_tokens(input_ids)
    isImage = input_ids == IMAGE_PAD
    rows[isImage] = images.to(rows.dtype)
    thw = torch.cat([torch.ones(len(grids), 1, dtype=torch.long), grids * 2], 1)
    positions, _ = model.model.get_rope_index(input_ids, isImage.int(), thw)
    states = model.model.language_model(inputs_embeds=rows, position_ids=positions).last_hidden_state
    return {'positions': positions.squeeze(1).float(), 'states': states}


def decode_frame(model, latents):
    return {'sample': model.decode(latents.unsqueeze(2)).sample.squeeze(2)}


def encode_frame(model, sample):
    return {'moments': model.encode(sample.unsqueeze(2)).latent_dist.parameters.squeeze(2)}


def decode_clip(model, latents):
    return {'sample': model.decode(latents.transpose(0, 1).unsqueeze(0)).sample[0].transpose(0, 1)}


def encode_clip(model, sample):
    return {'moments': model.encode(sample.transpose(0, 1).unsqueeze(0)).latent_dist.parameters[0].transpose(0, 1)}


def ltx_decode(model, latents, noise=None, time=None, share=None):
    """From the denoiser's latents, as the pipelines take them back."""
    z = latents.transpose(0, 1).unsqueeze(0) * model.latents_std.view(1, -1, 1, 1, 1) + model.latents_mean.view(1, -1, 1, 1, 1)
    if noise is not None:
        z = (1 - share) * z + share * noise.transpose(0, 1).unsqueeze(0)
    return {'sample': model.decode(z, time).sample[0].transpose(0, 1)}


def ltx_noisy_decode(model, latents, time, maps):
    """`maps`: the noise of all layers, one after the other."""
    at = 0

    def given(shape, **options):
        nonlocal at
        at += shape.numel()
        return maps[at - shape.numel() : at].view(shape)

    with mock.patch('torch.randn', given):
        made = ltx_decode(model, latents, time=time)
    assert at == maps.numel(), at
    return made


def ltx_encode(model, sample):
    """Means and logarithms of variances of the denoiser's latents."""
    distribution = model.encode(sample.transpose(0, 1).unsqueeze(0)).latent_dist
    mean, spread = model.latents_mean.view(1, -1, 1, 1, 1), model.latents_std.view(1, -1, 1, 1, 1)
    moments = torch.cat([(distribution.mean - mean) / spread, distribution.logvar - 2 * spread.log()], 1)
    return {'moments': moments[0].transpose(0, 1)}


def chat_ids(number):
    def make():
        return {'input_ids': torch.tensor([rendered_ids(PROMPTS[number])])}

    return make


def rendered_ids(prompt):
    tokenizer = AutoTokenizer.from_pretrained(FOLDERS / 'z-image' / 'tokenizer')
    messages = [{'role': 'user', 'content': prompt}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=True)
    return tokenizer(text).input_ids


def qwen_outputs(model, input_ids):
    states = model(input_ids, output_hidden_states=True).hidden_states
    return {'hidden_2': states[-2], 'last_hidden_state': states[-1]}


def padded_ids(seed, vocabulary, tokens, padding, side):
    """Random ids with `padding` tokens that are masked, on the left or on the right."""

    def make():
        ids = torch.randint(10, vocabulary, (1, tokens), generator=torch.Generator().manual_seed(seed))
        mask = torch.ones_like(ids)
        masked = slice(padding) if side == 'left' else slice(tokens - padding, tokens)
        ids[:, masked] = 0
        mask[:, masked] = 0
        return {'input_ids': ids, 'attention_mask': mask}

    return make


def states_after(*layers):
    """States after several layers side by side, with the attention that pipelines take: eager attention lets tokens of padding before a text see all."""

    def outputs(model, input_ids, attention_mask):
        model.set_attn_implementation('sdpa')
        states = model(input_ids, attention_mask=attention_mask, output_hidden_states=True).hidden_states
        return {'states': torch.cat([states[layer] for layer in layers], -1)}

    return outputs


MODULES = {
    'clip-quick-gelu': Case(
        'sd1/text_encoder',
        'CLIP-L: quick_gelu, causal, pad = EOS, eos_token_id 2 (pools at the largest id); an id above EOS stands in row 0',
        lambda: prompt_ids('sd1', (0, 9), above_eos=True),
        lambda model, input_ids: text_outputs(model, input_ids, (1, 2, 3)),
    ),
    'clip-eos': Case(
        'sd1/text_encoder',
        'the weights of clip-quick-gelu with gelu, and eos_token_id as newer files say it (pools at the first EOS)',
        lambda: prompt_ids('sd1', (0, 13), above_eos=True),
        text_outputs,
        {'hidden_act': 'gelu', 'eos_token_id': EOS_ID, 'bos_token_id': BOS_ID},
    ),
    'unet-sd1': Case(
        'sd1/unet',
        'convolutions as proj_in, attention_head_dim = number of heads, even sizes',
        unet_inputs(10, 4, 12, 16, 64),
        unet_outputs,
    ),
    'unet-sd1-odd': Case(
        'sd1/unet',
        'sides that are no multiples of 4: skips of 9, 5, 3 and 14, 7, 4, upsampled to the skip; batch 1',
        unet_inputs(12, 4, 9, 14, 64, batch=1, tokens=154),
        unet_outputs,
    ),
    'vae-decode': Case(
        'sd1/vae',
        'AutoencoderKL with quant convolutions; sides of a prime and an odd number',
        lambda: {'latents': normal(20, 1, 4, 7, 9, deviation=3)},
        decode,
    ),
    'vae-encode': Case(
        'sd1/vae',
        'moments before scaling; down convolutions padded right and bottom only',
        lambda: {'sample': normal(21, 1, 3, 28, 36, deviation=0.4)},
        encode,
    ),
    'clip-projection': Case(
        'sdxl/text_encoder_2',
        'CLIPTextModelWithProjection with exact gelu; pad `!`',
        lambda: prompt_ids('sd2', (1, 7)),
        text_outputs,
    ),
    'clip-new-names': Case(
        'sd2/text_encoder',
        'tensor names as transformers 5 writes them, without text_model.; gelu; pad `!`; a prompt that fills all rows',
        lambda: prompt_ids('sd2', (15, 6)),
        lambda model, input_ids: {'last_hidden_state': model(input_ids).last_hidden_state},
    ),
    'unet-sd2': Case(
        'sd2/unet',
        'use_linear_projection, heads as a list, upcast_attention (no change in f32)',
        unet_inputs(30, 4, 11, 6, 64, tokens=77),
        unet_outputs,
    ),
    'unet-sdxl': Case(
        'sdxl/unet',
        'transformer_layers_per_block [1, 2], first block without attention, text_time embedding of pooled text and six numbers',
        unet_inputs(
            32,
            4,
            10,
            14,
            128,
            tokens=77,
            text_embeds=lambda: normal(34, 2, 48),
            time_ids=lambda: torch.tensor([[40.0, 56, 0, 0, 40, 56], [1024, 768, 17, 250, 512, 640]]),
        ),
        unet_outputs,
    ),
    'unet-lcm': Case(
        'unet-lcm',
        'time_cond_proj_dim: an embedding of the guidance is added before the time MLP',
        unet_inputs(35, 4, 8, 6, 64, tokens=13, timestep_cond=lambda: normal(37, 2, 16)),
        unet_outputs,
    ),
    'unet-inpaint': Case(
        'sd1-inpaint/unet',
        'nine input channels: latents, mask, masked latents; two resnets a block',
        unet_inputs(38, 9, 10, 14, 64, batch=1, tokens=20),
        unet_outputs,
    ),
    'unet-narrow': Case(
        'unet-narrow',
        'widths 8 and 40, no multiples of 32, one head of 8 and of 40; sides of 7 and 5; one text row',
        unet_inputs(40, 4, 7, 5, 64, batch=3, tokens=1),
        unet_outputs,
    ),
    'controlnet-sd1': Case(
        'controlnet-sd1',
        'three widths of the network for the image, 4 to 12; sides that are no multiples of 4',
        control_inputs(72, 9, 14, 64, 4),
        control_outputs,
    ),
    'controlnet-bgr': Case(
        'controlnet-sd1-bgr', 'blue before red in the image; no attention in the middle', control_inputs(76, 8, 6, 64, 4, batch=1), control_outputs
    ),
    'controlnet-sdxl': Case(
        'controlnet-sdxl',
        'pooled text and six numbers in the time embedding; first block without attention',
        control_inputs(
            80,
            10,
            6,
            128,
            2,
            text_embeds=lambda: normal(84, 2, 48),
            time_ids=lambda: torch.tensor([[40.0, 56, 0, 0, 40, 56], [1024, 768, 17, 250, 512, 640]]),
        ),
        control_outputs,
    ),
    'clip-vision': Case(
        'image-encoder',
        'nine patches and a token for the whole image; the states before the last layer',
        lambda: {'pixels': normal(85, 1, 3, 30, 30)},
        clip_vision_outputs,
    ),
    'siglip-vision': Case(
        'hunyuan-image/image_encoder',
        'nine patches, and pixels behind the last that are not seen; the states behind the last norm',
        lambda: {'pixels': normal(377, 1, 3, 32, 32)},
        lambda model, pixels: {'last_hidden_state': model(pixels).last_hidden_state},
    ),
    'clip-vision-plain': Case(
        'wan-image/image_encoder',
        'the class without a projection: the states before the last layer',
        lambda: {'pixels': normal(86, 1, 3, 30, 30)},
        lambda model, pixels: {'hidden_2': model(pixels, output_hidden_states=True).hidden_states[-2]},
    ),
    'vae-16-decode': Case(
        'z-image/vae',
        '16 channels, no quant convolutions',
        lambda: {'latents': normal(42, 2, 16, 5, 8, deviation=2)},
        decode,
    ),
    'vae-16-encode': Case(
        'z-image/vae', '16 channels, no quant convolutions', lambda: {'sample': normal(43, 2, 3, 20, 32, deviation=0.4)}, encode
    ),
    'vae-old-names-decode': Case(
        'sd2/vae',
        'attention stored as query, key, value, proj_attn',
        lambda: {'latents': normal(44, 1, 4, 6, 6, deviation=3)},
        decode,
    ),
    'vae-old-names-encode': Case(
        'sd2/vae',
        'attention stored as query, key, value, proj_attn; sides that are no multiples of 4 lose their rest',
        lambda: {'sample': normal(45, 1, 3, 27, 30, deviation=0.4)},
        encode,
    ),
    'tiny-decode': Case(
        'autoencoder-tiny',
        'AutoencoderTiny: 3 tanh(z / 3) at the entrance',
        lambda: {'latents': normal(46, 2, 4, 7, 5, deviation=2)},
        decode,
    ),
    'tiny-encode': Case(
        'autoencoder-tiny',
        'AutoencoderTiny',
        lambda: {'sample': normal(47, 1, 3, 28, 20, deviation=0.4)},
        lambda model, sample: {'latents': model.encode(sample).latents},
    ),
    'z-image-padded': Case(
        'z-image/transformer',
        '35 image tokens (padded to 64) and captions of 11 and 40 rows (to 32 and 64): two items of different length in one call',
        z_image_inputs(50, 10, 14, (11, 40)),
        z_image_outputs,
    ),
    'z-image-exact': Case(
        'z-image/transformer',
        '32 image tokens and 32 caption rows: no pads at all',
        z_image_inputs(60, 8, 16, (32,)),
        z_image_outputs,
    ),
    'lumina2': Case(
        'lumina2/transformer',
        '5 × 7 patches behind captions of 11 and 4 rows: two items of different length in one call',
        lumina2_inputs(55, 10, 14, (11, 4)),
        lumina2_outputs,
    ),
    'qwen3-hidden': Case(
        'z-image/text_encoder',
        'hidden_states[-2] of a prompt in the chat template: one layer less, no final norm',
        chat_ids(0),
        qwen_outputs,
    ),
    'qwen-image': Case(
        'qwen-image/transformer',
        'an image of 5 × 7 patches, an odd number of rows and columns about the centre; 13 text rows',
        qwen_image_inputs(150, 5, 7, 13),
        qwen_image_outputs,
    ),
    'qwen-image-references': Case(
        'qwen-image/transformer',
        'two reference images, the second larger than what is denoised; zero_cond_t: they are modulated as at time 0',
        qwen_image_inputs(160, 4, 6, 9, ((3, 4), (6, 5))),
        qwen_image_outputs,
        {'zero_cond_t': True},
    ),
    'vae-qwen-image-decode': Case(
        'qwen-image/vae',
        'causal 3-D convolutions over one frame; sides of a prime and an odd number',
        lambda: {'latents': normal(170, 1, 4, 7, 9, deviation=2)},
        decode_frame,
    ),
    'vae-qwen-image-encode': Case(
        'qwen-image/vae',
        'causal 3-D convolutions over one frame, moments before scaling; two images',
        lambda: {'sample': normal(171, 2, 3, 28, 36, deviation=0.4)},
        encode_frame,
    ),
    'vae-wan-decode': Case(
        'autoencoder-wan',
        'causal 3-D convolutions over three latent frames, which become nine: all but the first are doubled twice',
        lambda: {'latents': normal(332, 3, 4, 3, 2)},
        decode_clip,
    ),
    'vae-wan-encode': Case(
        'autoencoder-wan',
        'causal 3-D convolutions over nine frames, which become three; moments before scaling',
        lambda: {'sample': normal(333, 9, 3, 24, 16, deviation=0.4)},
        encode_clip,
    ),
    'vae-wan-residual-decode': Case(
        'autoencoder-wan-residual',
        'shortcuts past the blocks of a resolution, a decoder of other widths than the encoder, patches of pixels; nine frames of three',
        lambda: {'latents': normal(334, 3, 6, 3, 2)},
        decode_clip,
    ),
    'vae-wan-residual-encode': Case(
        'autoencoder-wan-residual',
        'shortcuts past the blocks of a resolution, the first of nine frames beside none; moments before scaling',
        lambda: {'sample': normal(335, 9, 3, 48, 32, deviation=0.4)},
        encode_clip,
    ),
    'vae-hunyuan-decode': Case(
        'hunyuan/vae',
        'convolutions around whose frames pixels are repeated, attention to all earlier frames; five frames of three',
        lambda: {'latents': normal(371, 3, 4, 3, 5)},
        decode_clip,
    ),
    'vae-hunyuan-encode': Case(
        'hunyuan/vae',
        'the first of five frames alone, then pairs; moments before scaling',
        lambda: {'sample': normal(372, 5, 3, 12, 20, deviation=0.4)},
        encode_clip,
    ),
    'vae-ltx-decode': Case(
        'autoencoder-ltx',
        'convolutions that see a frame to both sides; nine frames of three, a convolution and a norm as shortcut, one resolution that doubles nothing',
        lambda: {'latents': normal(342, 3, 6, 3, 2)},
        ltx_decode,
    ),
    'vae-ltx-encode': Case(
        'autoencoder-ltx',
        'causal convolutions with strides over nine frames; all channels share a variance; as the denoiser takes them',
        lambda: {'sample': normal(343, 9, 3, 48, 32, deviation=0.4)},
        ltx_encode,
    ),
    'vae-ltx-timed-decode': Case(
        'autoencoder-ltx-timed',
        'a time step that modulates norms, noise that is left, shortcuts past doublings whose channels are repeated in turn',
        lambda: {'latents': normal(344, 3, 6, 3, 2), 'noise': normal(345, 3, 6, 3, 2), 'time': torch.tensor([0.05]), 'share': torch.tensor([0.25])},
        ltx_decode,
    ),
    'vae-ltx-noisy-decode': Case(
        'autoencoder-ltx-noisy',
        'noise that layers add at the smallest and the largest resolution, the same in all frames, by scales of channels',
        lambda: {'latents': normal(347, 2, 6, 3, 2), 'time': torch.tensor([0.05]), 'maps': normal(348, 4 * 6 + 2 * 96)},
        ltx_noisy_decode,
    ),
    'vae-ltx-timed-encode': Case(
        'autoencoder-ltx-timed',
        'frames and pixels that become channels, of space, of time and of both',
        lambda: {'sample': normal(346, 9, 3, 48, 32, deviation=0.4)},
        ltx_encode,
    ),
    'flux': Case(
        'flux/transformer',
        'the guidance scale as an input; 5 × 7 patches, 13 text rows; axes of 4, 6 and 10 dimensions',
        flux_inputs(200, 5, 7, 13),
        flux_outputs,
    ),
    'flux-references': Case(
        'flux-schnell/transformer',
        'no guidance input; a reference image larger than what is denoised',
        flux_inputs(210, 4, 6, 9, references=((6, 5),)),
        flux_outputs,
    ),
    'chroma': Case(
        'chroma/transformer',
        'modulation by the network of two layers for 32 vectors; 5 × 7 patches, 13 text rows',
        flux_inputs(240, 5, 7, 13),
        chroma_outputs,
    ),
    't5-masked': Case(
        'flux/text_encoder_2',
        'padding that no token sees, the first of which is kept',
        lambda: {'input_ids': torch.cat([torch.arange(3, 33), torch.tensor([1]), torch.zeros(7)]).long()[None]},
        lambda model, input_ids: {'last_hidden_state': model(input_ids, attention_mask=(torch.arange(38) < 31)[None]).last_hidden_state[:, :32]},
    ),
    't5': Case(
        'flux/text_encoder_2',
        'heads of 12 dimensions whose width is not that of the states; 12 classes of distances up to 20, more tokens than that; padding takes part',
        lambda: {'input_ids': torch.cat([torch.arange(3, 33), torch.tensor([1]), torch.zeros(7)]).long()[None]},
        lambda model, input_ids: {'last_hidden_state': model(input_ids).last_hidden_state},
    ),
    'umt5': Case(
        'wan/text_encoder',
        'a bias of each layer; padding behind the words that no token sees',
        lambda: {'input_ids': torch.cat([torch.arange(3, 29), torch.tensor([1]), torch.zeros(5)]).long()[None]},
        lambda model, input_ids: {'last_hidden_state': model(input_ids, attention_mask=(torch.arange(32) < 27)[None]).last_hidden_state[:, :27]},
    ),
    'sd3': Case(
        'sd3/transformer',
        'no norms of heads; 5 × 7 patches in the middle of 11 × 11 places, 13 text rows; the last block has no text behind it',
        sd3_inputs(250, 10, 14, 13),
        sd3_outputs,
    ),
    'sd3-dual': Case(
        'sd3-dual/transformer',
        'two attentions in the first and the last block, norms of heads; 11 × 4 patches in the middle of 14 × 14 places',
        sd3_inputs(260, 22, 8, 9),
        sd3_outputs,
    ),
    'sd3-inpaint': Case(
        'sd3-inpaint/transformer', 'latents, mask and masked latents; all of 11 × 11 places', sd3_inputs(270, 22, 22, 7, channels=33), sd3_outputs
    ),
    'dc-decode': Case(
        'sana/vae',
        'the resolutions of published models; fewer pixels than dimensions of a head; heads that leave out channels',
        lambda: {'latents': normal(280, 1, 16, 3, 2, deviation=0.8)},
        dc_decode,
    ),
    'dc-encode': Case('sana/vae', 'latents before scaling', lambda: {'sample': normal(281, 1, 3, 64, 96, deviation=0.4)}, dc_encode),
    'dc-shuffle-decode': Case(
        'autoencoder-dc', 'shuffled pixels, kernels of two sizes, no shortcut; two images', lambda: {'latents': normal(282, 2, 6, 7, 5)}, dc_decode
    ),
    'dc-shuffle-encode': Case(
        'autoencoder-dc', 'moved pixels, no shortcut; two images', lambda: {'sample': normal(283, 2, 3, 20, 28, deviation=0.4)}, dc_encode
    ),
    'sana': Case(
        'sana/transformer', 'norms of queries and keys; texts of 11 and 4 tokens, 5 × 7 latents', sana_inputs(284, 5, 7, (11, 4)), sana_outputs
    ),
    'sana-placed': Case(
        'sana-placed/transformer', 'positions, biases, a norm with weights', sana_inputs(286, 10, 7, (3, 9)), sana_outputs
    ),
    'sana-patched': Case(
        'sana-patched/transformer', 'tokens of 2 × 2 latents, with positions; heads of 10 dimensions before the text', sana_inputs(298, 10, 6, (3, 9)), sana_outputs
    ),
    'sana-sprint': Case(
        'sana-sprint/transformer', 'the guidance scale and the time step, 0 … 1, as inputs', lambda: sana_inputs(288, 6, 4, (8, 8))() | {'timestep': torch.tensor([0.9, 0.4])}, sana_outputs
    ),
    'pixart': Case(
        'pixart/transformer', 'texts of 11 and 4 tokens, 6 × 10 latents, positions of another base; a variance', pixart_inputs(291, 6, 10, (11, 4)), pixart_outputs
    ),
    'pixart-alpha': Case(
        'pixart-alpha/transformer', 'the size of the image as an input, without biases of queries', pixart_inputs(293, 10, 4, (3, 9)), pixart_outputs
    ),
    'wan': Case('wan/transformer', 'three frames of 3 × 5 patches, 13 text rows; heads of 20 dimensions', wan_inputs(301, 4, 3, 6, 10, 13), wan_outputs),
    'wan-frames': Case(
        'wan/transformer', 'a time for each frame: the first is an image, and clean', wan_inputs(304, 4, 3, 6, 10, 13, perFrame=True), wan_outputs
    ),
    'wan-image': Case(
        'wan-image/transformer',
        'an image in further channels, and two of which tokens see states with positions beside 512 text rows',
        wan_inputs(307, 10, 2, 4, 6, 512, images=2),
        wan_outputs,
    ),
    'ltx': Case('ltx/transformer', 'three frames of 3 × 5 latents, a text of 9 words and padding; 60 columns of all heads', ltx_inputs(321, 6, 3, 3, 5, 13, 9), ltx_outputs),
    'ltx-frames': Case(
        'ltx-plain/transformer',
        'a time for each frame; no biases in attention; 40 columns of all heads, of which four are not rotated',
        ltx_inputs(324, 6, 3, 4, 2, 13, 13, perFrame=True),
        ltx_outputs,
    ),
    'hunyuan': Case(
        'hunyuan/transformer',
        'three frames of 3 × 5 latents; a text of 9 words and texts of 5 bytes that are to be seen, of which the padding is not seen',
        hunyuan_inputs(361, 3, 3, 5, (9, 5)),
        hunyuan_outputs,
    ),
    'hunyuan-image': Case('hunyuan-image/transformer', 'states of an image before the texts; the time that a step leads to', hunyuan_inputs(365, 2, 3, 2, (7, 4), image=4), hunyuan_outputs),
    'flux2': Case(
        'flux2-klein/transformer',
        '5 × 7 latents, 13 text rows; four axes of 4, 6, 2 and 8 dimensions; a feed-forward part of 156 columns for 60',
        flux2_inputs(220, 5, 7, 13),
        flux2_outputs,
    ),
    'flux2-guidance': Case(
        'flux2/transformer',
        'the guidance scale as an input; reference images of other sides, the second larger than what is denoised',
        flux2_inputs(230, 4, 6, 9, references=((3, 4), (6, 5))),
        flux2_outputs,
    ),
    'vae-flux2-decode': Case(
        'flux2-klein/vae',
        'statistics of channels with an eps that matters, patches of 2 × 2, a decoder of other widths than the encoder; sides of a prime and an odd number',
        lambda: {'latents': normal(226, 1, 16, 5, 9)},
        flux2_decode,
    ),
    'vae-flux2-encode': Case(
        'flux2-klein/vae',
        'means of the distributions, as patches, by the statistics of channels; two images',
        lambda: {'sample': normal(227, 2, 3, 28, 36, deviation=0.4)},
        flux2_encode,
    ),
    'qwen-vision': Case(
        'qwen-image/text_encoder',
        'vision tower: 130 × 75 pixels become 10 × 6 patches in windows of 4 × 4, those at the right and the bottom narrower; the second layer attends to all',
        tower_inputs(180, 75, 130),
        tower_outputs,
    ),
    'qwen-vision-small': Case(
        'qwen-image/text_encoder',
        'vision tower: 30 × 20 pixels are enlarged to the least that the processor gives',
        tower_inputs(181, 20, 30),
        tower_outputs,
    ),
    'qwen-text-images': Case(
        'qwen-image/text_encoder',
        'language model with two images among the words: positions of time, height and width; behind the final norm',
        text_with_images([(3, 5), (4, 2)]),
        multimodal_outputs,
    ),
    'hunyuan-texts': Case(
        'hunyuan/text_encoder',
        "Qwen2.5-VL's language model saved alone, as HunyuanVideo 1.5 reads it: states before the last two layers, padding behind the text",
        padded_ids(376, 472, 21, 5, 'right'),
        states_after(2),
    ),
    'flux2-texts': Case(
        'flux2/text_encoder',
        'Mistral as FLUX.2 reads it: states after three layers side by side, padding before the text',
        padded_ids(290, 267, 37, 9, 'left'),
        states_after(10, 20, 30),
    ),
    'flux2-klein-texts': Case(
        'flux2-klein/text_encoder',
        'Qwen3 as FLUX.2 klein reads it: states after three layers side by side, padding behind the text',
        padded_ids(291, 460, 37, 9, 'right'),
        states_after(9, 18, 27),
    ),
}

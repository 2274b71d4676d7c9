"""The module cases of test/golden/image: which checkpoint, what goes in, which results are kept."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from transformers import CLIPTokenizer

from image_checkpoints import FOLDERS
from image_configs import BOS_ID, EOS_ID, VOCABULARY
from image_tokenizer import PROMPTS


@dataclass
class Case:
    checkpoint: str  # folder of the component
    exercises: str
    inputs: Callable
    outputs: Callable
    config: dict = field(default_factory=dict)


def normal(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def prompt_ids(checkpoint, numbers, above_eos=False):
    """Padded rows of 77 ids; `above_eos` puts an id that no tokenizer gives before EOS of the first row."""
    tokenizer = CLIPTokenizer.from_pretrained(FOLDERS / checkpoint / 'tokenizer')
    texts = [PROMPTS[number] for number in numbers]
    ids = torch.tensor(tokenizer(texts, padding='max_length', truncation=True).input_ids)
    assert ids[0, 0] == BOS_ID and (ids == EOS_ID).any(1).all()
    if above_eos:
        ids[0, 3] = VOCABULARY - 1
    return {'input_ids': ids}


def text_outputs(model, input_ids):
    """hidden_k: hidden_states[-k], without the final norm; hidden_k_normed: with it. last_hidden_state is hidden_1 with it."""
    out = model(input_ids, output_hidden_states=True)
    norm = getattr(model, 'text_model', model).final_layer_norm
    kept = {'last_hidden_state': out.last_hidden_state}
    for back in (1, 2, 3):
        kept[f'hidden_{back}'] = out.hidden_states[-back]
    for back in (2, 3):
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


def decode(model, latents):
    return {'sample': model.decode(latents).sample}


def encode(model, sample):
    """Mean and logarithm of the variance, one after the other over channels; the latter clamped to -30..20."""
    distribution = model.encode(sample).latent_dist
    return {'moments': distribution.parameters, 'mean': distribution.mean, 'logvar': distribution.logvar}


MODULES = {
    'clip-quick-gelu': Case(
        'sd1/text_encoder',
        'CLIP-L: quick_gelu, causal, pad = EOS, eos_token_id 2 (pools at the largest id); an id above EOS stands in row 0',
        lambda: prompt_ids('sd1', (0, 9), above_eos=True),
        text_outputs,
    ),
    'clip-eos': Case(
        'sd1/text_encoder',
        'the same weights with gelu and eos_token_id as newer files say it (pools at the first EOS)',
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
        lambda: {'latents': normal(20, 1, 4, 7, 9) * 3},
        decode,
    ),
    'vae-encode': Case(
        'sd1/vae',
        'moments before scaling; down convolutions padded right and bottom only',
        lambda: {'sample': normal(21, 1, 3, 28, 36).tanh()},
        encode,
    ),
}

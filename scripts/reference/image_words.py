"""Makes the embeddings of checkpoints/words, which stand for words:  python scripts/reference/image_words.py

`learned_embeds` names its word, as diffusers saves one vector; `scribble` is a file of A1111 with three, whose word is the name of the
file; `mood` has two for each text encoder of SDXL.
"""

from safetensors.torch import load_file, save_file

from image_checkpoints import FOLDERS
from recipe import Draws, keep

FOLDER = FOLDERS / 'words'
COLUMNS = 64


def load(pipe, names):
    """Loads embeddings as the pipelines of diffusers take them."""
    for name in names:
        path = FOLDER / f'{name}.safetensors'
        state = load_file(path)
        if 'clip_g' not in state:
            pipe.load_textual_inversion(path, token=None if name == 'learned_embeds' else name)
            continue
        for key, end in (('clip_l', ''), ('clip_g', '_2')):
            parts = {'tokenizer': getattr(pipe, f'tokenizer{end}'), 'text_encoder': getattr(pipe, f'text_encoder{end}')}
            pipe.load_textual_inversion(state[key], token=name, **parts)


if __name__ == '__main__':
    FOLDER.mkdir(parents=True, exist_ok=True)
    draws = Draws(90)

    def rows(name, *shape):
        return draws(name, (*shape, COLUMNS), 0.6)

    files = {
        'learned_embeds': {'<blob>': rows('<blob>')},
        'scribble': {'emb_params': rows('emb_params', 3).half()},
        'mood': {'clip_l': rows('clip_l', 2), 'clip_g': rows('clip_g', 2).bfloat16()},
    }
    for name, tensors in files.items():
        path = FOLDER / f'{name}.safetensors'
        save_file(tensors, path)
        keep(path, draws)

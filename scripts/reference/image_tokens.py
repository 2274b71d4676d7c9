"""Goldens of the two small tokenizers:  python scripts/reference/image_tokens.py

clip-tokens: what the tokenizer gives for the text (BOS, EOS and no limit), and `padded` the 77 ids that the text encoder
gets, for both tokenizers: CLIP-L pads with EOS, OpenCLIP with `!`, which thereby is a special token: it is cut out of
the text before all else and never stands at a word's end. qwen-tokens: the prompt in the chat template with
enable_thinking, and its ids. saved-tokenizer: the tokenizer of a pipeline that diffusers saved under transformers 5, with a class
that reads the files of any tokenizer; its entry in model_index.json, and ids of texts.
"""

import json
import shutil
import tempfile
from pathlib import Path

from diffusers import StableDiffusionPipeline
from transformers import AutoTokenizer, CLIPTokenizer, PreTrainedTokenizerFast

from image_cases import rendered_ids
from image_checkpoints import FOLDERS, ROOT
from image_golden import write_case
from image_tokenizer import PROMPTS


def clip(checkpoint):
    tokenizer = CLIPTokenizer.from_pretrained(FOLDERS / checkpoint / 'tokenizer')
    plain = tokenizer(PROMPTS, verbose=False).input_ids
    padded = tokenizer(PROMPTS, padding='max_length', truncation=True).input_ids
    return plain, padded


def saved():
    """Saves a pipeline whose tokenizer was opened by no class of its own."""
    with tempfile.TemporaryDirectory() as folder:
        CLIPTokenizer.from_pretrained(FOLDERS / 'sd1' / 'tokenizer').save_pretrained(folder)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        pipe = StableDiffusionPipeline.from_pretrained(FOLDERS / 'sd1', tokenizer=tokenizer, safety_checker=None)
        place = Path(folder) / 'pipeline'
        pipe.save_pretrained(place)
        entry = json.loads((place / 'model_index.json').read_text())['tokenizer']
        document = {
            'class': entry[1],
            'exercises': 'what diffusers writes for a tokenizer of no class of its own',
            'entry': entry,
            'prompts': [{'text': text, 'ids': tokenizer(text, verbose=False).input_ids} for text in PROMPTS[:15]],
        }
        write_case('saved-tokenizer', 'image_tokens.py', document)
        shutil.copytree(place / 'tokenizer', ROOT / 'saved-tokenizer', dirs_exist_ok=True)


def make():
    plain, padded = clip('sd1')
    open_plain, open_padded = clip('sd2')
    rows = zip(PROMPTS, plain, padded, open_plain, open_padded)
    document = {
        'class': 'CLIPTokenizer',
        'tokenizers': {'clip': 'checkpoints/sd1/tokenizer', 'openclip': 'checkpoints/sd2/tokenizer'},
        'exercises': 'lower case, contractions, digits one by one, accents, CJK, emoji, white space, special tokens in '
        'the text, the empty prompt, more than 77 tokens',
        'prompts': [dict(zip(('text', 'clip', 'clip_padded', 'openclip', 'openclip_padded'), row)) for row in rows],
    }
    write_case('clip-tokens', 'image_tokens.py', document)
    tokenizer = AutoTokenizer.from_pretrained(FOLDERS / 'z-image' / 'tokenizer')
    prompts = []
    for text in PROMPTS:
        messages = [{'role': 'user', 'content': text}]
        options = dict(tokenize=False, add_generation_prompt=True, enable_thinking=True)
        rendered = tokenizer.apply_chat_template(messages, **options)
        prompts.append({'text': text, 'rendered': rendered, 'ids': rendered_ids(text)})
    document = {
        'class': 'Qwen2Tokenizer',
        'tokenizer': 'checkpoints/z-image/tokenizer',
        'exercises': 'the chat template as Z-Image applies it, and byte-level BPE of every prompt',
        'prompts': prompts,
    }
    write_case('qwen-tokens', 'image_tokens.py', document)


if __name__ == '__main__':
    make()
    saved()

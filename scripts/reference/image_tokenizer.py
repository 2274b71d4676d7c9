"""Small tokenizers in the published layouts, learnt from the prompts of the goldens.

CLIP (vocab.json, merges.txt): as in the published one the vocabulary is 256 byte letters (so that `!` is id 0), the same
with `</w>`, one token a merge, BOS, EOS. `pad` is the only difference between CLIP-L (EOS) and OpenCLIP (`!`).

Qwen (tokenizer.json beside the same two files): 256 byte letters, one token a merge, then the added tokens; a chat
template of the published one's effect on plain messages.

Mistral (tokenizer.json): byte letters behind the added tokens; a chat template of parts of messages in a file of its own.

Gemma (tokenizer.json): merges over a text whose spaces are `▁`, bytes for the rest, behind `<pad>`, `<eos>`, `<bos>` and `<unk>`; every text
begins with `<bos>`.

T5 (tokenizer.json): a unigram model behind `<pad>`, `</s>` and `<unk>`, pieces of words that begin with `▁`; every text ends with `</s>`.
"""

import inspect
import json
import unicodedata
from collections import Counter

import regex
from diffusers import SanaPipeline
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AddedToken, Qwen2Tokenizer

BOS, EOS = '<|startoftext|>', '<|endoftext|>'
MERGES = 200
QWEN_MERGES = 200
QWEN_ADDED = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<think>', '</think>']
QWEN_TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
WORD = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+")
PROMPTS = [
    'a red balloon over snowy mountains at sunset',
    'a small wooden house by the sea, oil painting, warm evening light',
    'a lighthouse on the rocks, stormy night, heavy rain, highly detailed',
    'portrait of an old sailor with a white beard, photograph, 85mm',
    'two boats on a calm lake, pine forest, morning fog',
    'desert dunes under the stars, long exposure',
    'blurry, low quality, watermark, text',
    '',
    "It's the cat's house; we'll paint it, they've said. Don't!",
    'Ein Café in Zürich, crème brûlée & 3 naïve ÉCLAIRS',
    '山の上の赤い風船 и маленький дом 🎈🏔️',
    '  tabs\tand   spaces\n\nand a new line  ',
    'weights are no syntax here: (red:1.2) [blue] BREAK 1024x768 #7 50% @noon --no-frame',
    'a text with <|endoftext|> inside and <|startoftext|> too',
    'x' * 40 + ' 123456 ' + '!?' * 12,
    ' '.join(['a very long prompt about the sea, the sky, the forest and the mountains in the evening light'] * 7),
]


# The instruction before prompts of Sana, by default.
SANA_INSTRUCTION = inspect.signature(SanaPipeline.__call__).parameters['complex_human_instruction'].default


def byte_letters():
    """Byte -> printable letter: bytes that print stand for themselves, the others for letters from U+0100 on."""
    printing = [*range(ord('!'), ord('~') + 1), *range(ord('¡'), ord('¬') + 1), *range(ord('®'), ord('ÿ') + 1)]
    others = [byte for byte in range(256) if byte not in printing]
    return {byte: chr(byte) for byte in printing} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def clip_words(text):
    letters = byte_letters()
    for word in WORD.findall(unicodedata.normalize('NFC', text).lower()):
        spelled = [letters[byte] for byte in word.encode()]
        yield (*spelled[:-1], spelled[-1] + '</w>')


def qwen_words(text):
    letters = byte_letters()
    for word in regex.findall(r' ?\p{L}+|[^\p{L}]', unicodedata.normalize('NFC', text)):
        yield tuple(letters[byte] for byte in word.encode())


def joined(word, pair):
    """The word with each occurrence of the pair made one part."""
    parts, i = [], 0
    while i < len(word):
        size = 2 if word[i : i + 2] == pair else 1
        parts.append(''.join(word[i : i + size]))
        i += size
    return tuple(parts)


def learn(words, merges):
    """Most frequent pair first; among equals the alphabetically first, so that every machine learns the same."""
    counts = Counter(words)
    learnt = []
    for _ in range(merges):
        pairs = Counter()
        for word, count in counts.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        learnt.append(best)
        counts = Counter({joined(word, best): count for word, count in counts.items()})
    return learnt


def put(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + '\n')


def put_vocabulary(folder, vocabulary, merges):
    assert len(set(vocabulary)) == len(vocabulary)
    tokens = {token: index for index, token in enumerate(vocabulary)}
    (folder / 'vocab.json').write_text(json.dumps(tokens, ensure_ascii=False, separators=(',', ':')))
    (folder / 'merges.txt').write_text('#version: 0.2\n' + ''.join(f'{a} {b}\n' for a, b in merges))
    return tokens


def write_tokenizer(folder, pad=EOS):
    merges = learn((word for text in PROMPTS for word in clip_words(text)), MERGES)
    letters = list(byte_letters().values())
    vocabulary = [*letters, *(letter + '</w>' for letter in letters), *map(''.join, merges), BOS, EOS]
    put_vocabulary(folder, vocabulary, merges)
    special = {'bos_token': BOS, 'eos_token': EOS, 'unk_token': EOS, 'pad_token': pad}
    put(folder / 'special_tokens_map.json', special)
    more = {'add_prefix_space': False, 'do_lower_case': True, 'errors': 'replace', 'model_max_length': 77}
    put(folder / 'tokenizer_config.json', special | more | {'tokenizer_class': 'CLIPTokenizer'})
    return len(vocabulary)


def write_qwen_tokenizer(folder, more=()):
    merges = learn((word for text in PROMPTS for word in qwen_words(text)), QWEN_MERGES)
    vocabulary = [*byte_letters().values(), *map(''.join, merges)]
    tokens = put_vocabulary(folder, vocabulary, merges)
    tokenizer = Qwen2Tokenizer(vocab=tokens, merges=merges)
    tokenizer.add_special_tokens({'additional_special_tokens': [*QWEN_ADDED[1:3], *more]})
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in QWEN_ADDED[3:]])
    tokenizer.backend_tokenizer.save(str(folder / 'tokenizer.json'))
    config = {'tokenizer_class': 'Qwen2Tokenizer', 'pad_token': QWEN_ADDED[0], 'eos_token': QWEN_ADDED[2]}
    put(folder / 'tokenizer_config.json', config | {'chat_template': QWEN_TEMPLATE, 'model_max_length': 1024})
    return len(tokenizer)


MISTRAL_ADDED = ['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]', '[IMG]', '[IMG_BREAK]', '[IMG_END]', '<pad>']
MISTRAL_TEMPLATE = """\
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message.content[0].text + '[/SYSTEM_PROMPT]' }}
    {%- else %}
        {{- '[INST]' }}
        {%- for block in message.content %}
            {%- if block.type == 'text' %}{{- block.text }}{%- else %}{{- '[IMG]' }}{%- endif %}
        {%- endfor %}
        {{- '[/INST]' }}
    {%- endif %}
{%- endfor %}"""


def write_mistral_tokenizer(folder):
    """Byte letters alone behind the added tokens, which stand first; padded to the left."""
    vocabulary = [*MISTRAL_ADDED, *byte_letters().values()]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(vocabulary)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(MISTRAL_ADDED)
    tokenizer.post_processor = processors.TemplateProcessing(single='<s> $A', special_tokens=[('<s>', 1)])
    tokenizer.save(str(folder / 'tokenizer.json'))
    special = {'bos_token': '<s>', 'eos_token': '</s>', 'unk_token': '<unk>', 'pad_token': '<pad>'}
    put(folder / 'tokenizer_config.json', special | {'tokenizer_class': 'TokenizersBackend', 'padding_side': 'left', 'model_max_length': 1024})
    (folder / 'chat_template.jinja').write_text(MISTRAL_TEMPLATE)
    return len(vocabulary)


def write_gemma_tokenizer(folder, size=660):
    special = ['<pad>', '<eos>', '<bos>', '<unk>']
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token='<unk>'))
    tokenizer.normalizer = normalizers.Replace(' ', '▁')
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*special, *(f'<0x{byte:02X}>' for byte in range(256))], show_progress=False, max_token_length=12
    )
    tokenizer.train_from_iterator([text.lower() for text in PROMPTS[:8]] + SANA_INSTRUCTION, trainer)
    trained = json.loads(tokenizer.to_str())
    trained['added_tokens'] = trained['added_tokens'][: len(special)]  # bytes are ordinary tokens
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.post_processor = processors.TemplateProcessing(
        single='<bos> $A', pair='<bos> $A <bos> $B', special_tokens=[('<bos>', 2)]
    )
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.save(str(folder / 'tokenizer.json'))
    names = dict(zip(('pad_token', 'eos_token', 'bos_token', 'unk_token'), special))
    config = names | {'tokenizer_class': 'GemmaTokenizer', 'add_bos_token': True, 'add_eos_token': False, 'model_max_length': 2048}
    put(folder / 'tokenizer_config.json', config)
    return tokenizer.get_vocab_size()


def write_t5_tokenizer(folder, size=200):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    special = ['<pad>', '</s>', '<unk>']
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token='<unk>', show_progress=False)
    tokenizer.train_from_iterator(PROMPTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single='$A </s>', pair='$A </s> $B </s>', special_tokens=[('</s>', 1)]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.save(str(folder / 'tokenizer.json'))
    config = {'tokenizer_class': 'T5Tokenizer', 'pad_token': '<pad>', 'eos_token': '</s>', 'unk_token': '<unk>', 'extra_ids': 0}
    put(folder / 'tokenizer_config.json', config | {'model_max_length': 512})
    return tokenizer.get_vocab_size()

"""A small tekken.json, texts as mistral-common tokenizes them, and conversations as it renders them: test/golden/tekken/.

    python scripts/reference/mistral.py [TEKKEN_JSON]

tekken.json has the first ranks of the vocabulary that comes with mistral-common, and the special tokens of all versions. texts.json: texts
with their ids. conversations.json: conversations and tools with the prompt of each version, images and sounds as one placeholder each.
With a TEKKEN_JSON the files are made of its whole vocabulary, for a comparison that is not committed: set OUT.
"""

import base64
import io
import json
import os
import random
import re
import sys
from pathlib import Path

import mistral_common
import mistral_common.tokens.tokenizers.image as images
import numpy as np
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.chunk import AudioChunk
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.audio import Audio
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from PIL import Image

ROOT = Path(os.environ.get('OUT', Path(__file__).parents[2] / 'test' / 'golden' / 'tekken'))
DATA = Path(mistral_common.__file__).parent / 'data' / 'tekken_240911.json'
RANKS, SPARE, SPECIALS = 900, 20, 100
NAMED = {20: '<SPECIAL_20>', 21: '<SPECIAL_21>', 22: '<SPECIAL_22>', 23: '<SPECIAL_23>', 24: '[AUDIO]', 25: '[BEGIN_AUDIO]', 26: '[TRANSCRIBE]',
         27: '[ARGS]', 28: '[CALL_ID]', 29: '[THINK]', 30: '[/THINK]', 31: '[MODEL_SETTINGS]', 32: '[/MODEL_SETTINGS]'}  # fmt: skip
IMAGE = dict(image_patch_size=14, max_image_size=56, spatial_merge_size=2)
AUDIO = dict(sampling_rate=16000, frame_rate=12.5, chunk_length_s=1.0, transcription_format='instruct',
             audio_encoding_config=dict(num_mel_bins=20, hop_length=160, window_size=400))  # fmt: skip
SETTINGS = dict(reasoning_effort=dict(type='enum', values=['none', 'high'], accepts_none=True, default='none'))
VERSIONS = ['v3', 'v7', 'v11', 'v13', 'v15']
CONVERSATIONS = 42
WORDS = 'wind rain "quoted" café 東京 a\nb 🌧️ {"x":1.0} [1, 2] tail. 42 \\ // naïve don\'t'.split(' ')
LETTERS = ['a', 'B', 'é', '東', ' ', '  ', '\n', '\r\n', '\t', '1', '23', '.', '//', '🌧️', '👩‍👧', 'हिन्दी', '한국어', '\u00a0', '\u3000', '\u0085',
           '\ufeff', "'s", 'ǅ', '\u0301', '𝒳', '½', '{', '_', '\x00', '\u200b', ' the', 'ing', 'tion']  # fmt: skip
CODE = 'for (let i = 0; i < 10; i++) {\n\t\tvalue[i] += "text" + i; // comment\n    }\n\n\n'



def png():
    file = io.BytesIO()
    Image.new('RGB', (40, 30)).save(file, 'PNG')
    return base64.b64encode(file.getvalue()).decode()


PIXELS = 'data:image/png;base64,' + png()


def tekken(version, source):
    """The file's contents; `source`: the whole vocabulary's, or None for the small one."""
    data = json.loads(DATA.read_text())
    specials = [str(token['token_str']) for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS] + list(NAMED.values())
    whole = source is not None
    return dict(
        config=dict(
            pattern=data['config']['pattern'],
            num_vocab_tokens=len(data['vocab']) if whole else RANKS + SPARE,
            default_vocab_size=131072 if whole else SPECIALS + RANKS,
            default_num_special_tokens=1000 if whole else SPECIALS,
            version=version,
        ),
        vocab=data['vocab'] if whole else data['vocab'][: RANKS + SPARE],
        special_tokens=[dict(rank=i, token_str=text, is_control=True) for i, text in enumerate(specials)],
        image=IMAGE,
        **({'audio': AUDIO} if version != 'v3' else {}),
        **({'model_settings_builder': SETTINGS} if version == 'v15' else {}),
    )


def sentence(rng, most=6):
    return ' '.join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def call_id(rng):
    return ''.join(rng.choice('abcXYZ019') for _ in range(9))


def tools_of(rng):
    return [
        dict(type='function', function=dict(
            name=name, **({'description': sentence(rng)} if rng.random() < 0.7 else {}), **({'strict': True} if rng.random() < 0.3 else {}),
            parameters=dict(type='object', properties={'where': dict(type='string', description='café "x"'), 'n': dict(type='number', minimum=0.5)},
                            required=['where']) if rng.random() < 0.8 else {}))
        for name in rng.sample(['weather', 'get_time', 'search-web'], rng.randint(1, 3))
    ]  # fmt: skip


def content_of(rng, media):
    """Text, or parts; in places where an image moves, too."""
    kind = rng.random()
    if kind < 0.5:
        return sentence(rng) + (' ' if rng.random() < 0.2 else '')
    text = lambda: dict(type='text', text=sentence(rng))  # noqa: E731
    if kind < 0.65 or media is None:
        return [text() for _ in range(rng.randint(1, 2))]
    return rng.choice([[dict(type=media), text()], [text(), dict(type=media)], [text(), text(), dict(type=media)],
                       [text(), dict(type=media), text()], [dict(type=media), dict(type=media), text()]])  # fmt: skip


def conversation(rng, nth):
    """Messages of a conversation that most versions take."""
    media = [None, 'image', 'audio'][nth % 3]
    messages = [dict(role='system', content=sentence(rng)) for _ in range(rng.choice([0, 1, 1, 2]))] if media != 'audio' or nth % 2 else []
    tools = tools_of(rng) if rng.random() < 0.6 else None
    for turn in range(rng.randint(1, 3)):
        messages += [dict(role='user', content=content_of(rng, media)) for _ in range(rng.choice([1, 1, 1, 2]))]
        if tools and rng.random() < 0.7:
            calls = [dict(id=call_id(rng), type='function', function=dict(
                name=tools[0]['function']['name'],
                arguments=rng.choice(['{"where":"東京","n":1.0}', '{}', '{"a": [1, {"b": null}], "big": 12345678901234567890}', ''])))
                for _ in range(rng.randint(1, 2))]  # fmt: skip
            own = {'content': sentence(rng)} if rng.random() < 0.3 else {}
            messages.append(dict(role='assistant', tool_calls=calls, **own))
            results = [dict(role='tool', tool_call_id=call['id'], content=rng.choice([sentence(rng), '{"t":1.50,"ok":true}', '[1,2.0]', '17']))
                       for call in calls]  # fmt: skip
            messages += results[:: rng.choice([1, -1])]
        answer = dict(role='assistant', content=sentence(rng) + rng.choice(['', '  ', '\n']))
        if rng.random() < 0.4:
            answer['reasoning_content'] = sentence(rng)
        messages.append(answer)
    messages.append(dict(role='user', content=content_of(rng, media)))
    return messages, tools


def shown(message, sound):
    """A message as mistral-common takes it."""
    if not isinstance(message.get('content'), list):
        return message
    parts = {
        'image': dict(type='image_url', image_url=dict(url=PIXELS)),
        'audio': sound,
    }
    return message | {'content': [parts.get(part['type'], part) for part in message['content']]}


def prompt_of(tokenizer, messages, tools, sound, thinks, effort):
    """The prompt with one placeholder for each image and sound, and its ids; None where the version refuses the conversation."""
    given = [{key: value for key, value in one.items() if thinks or key != 'reasoning_content'} for one in messages]
    more = {'reasoning_effort': effort} if effort else {}
    try:
        request = ChatCompletionRequest.from_openai(messages=[shown(one, sound) for one in given], tools=tools, **more)
        tokens = tokenizer.encode_chat_completion(request).tokens
    except (MistralCommonException, ValueError) as error:
        print(tokenizer.version.value, 'refuses:', str(error)[:90])
        return None, None
    text = tokenizer.instruct_tokenizer.tokenizer._to_string(tokens)
    text = re.sub(r'(\[IMG\]|\[IMG_BREAK\])+\[IMG_END\]', '[IMG]', text)
    return re.sub(r'\[BEGIN_AUDIO\](\[AUDIO\])+', '[BEGIN_AUDIO][AUDIO]', text), tokens


def main():
    images.transform_image = lambda image, size: np.zeros((3, *size))
    source = sys.argv[1] if len(sys.argv) > 1 else None
    ROOT.mkdir(parents=True, exist_ok=True)
    audio = Audio(np.zeros(8000, np.float32), 16000, 'wav')
    sound = AudioChunk.from_audio(audio).to_openai()
    tokenizers = {}
    for version in VERSIONS:
        path = ROOT / 'tekken.json'
        path.write_text(json.dumps(tekken(version, source), separators=(',', ':')) + '\n')
        tokenizers[version] = MistralTokenizer.from_file(str(path))
    path.write_text(json.dumps(tekken('v11', source), separators=(',', ':')) + '\n')
    inner = tokenizers['v11'].instruct_tokenizer.tokenizer
    rng = random.Random(7)
    texts = [CODE, *WORDS, ' ' * 40, '\n' * 7, 'ab' * 300, '東京' * 20, '-' * 50]
    texts += [''.join(rng.choice(LETTERS) for _ in range(rng.randint(1, 25))) for _ in range(200)]
    found = []
    for nth in range(CONVERSATIONS):
        messages, tools = conversation(rng, nth)
        effort = rng.choice([None, 'high', 'none'])
        prompts, ids = {}, {}
        for version, tokenizer in tokenizers.items():
            text, tokens = prompt_of(tokenizer, messages, tools, sound, version in ('v13', 'v15'), effort if version == 'v15' else None)
            if text is not None:
                prompts[version], ids[version] = text, tokens
        found.append(dict(messages=messages, **({'tools': tools} if tools else {}), **({'effort': effort} if effort else {}), prompts=prompts))
        if source:
            found[-1]['ids'] = ids
    print({version: sum(version in one['prompts'] for one in found) for version in VERSIONS})
    dump = lambda name, value: (ROOT / name).write_text(json.dumps(value, ensure_ascii=False, indent=None) + '\n')  # noqa: E731
    dump('texts.json', [[text, inner.encode(text, False, False)] for text in texts])
    dump('conversations.json', found)


if __name__ == '__main__':
    main()

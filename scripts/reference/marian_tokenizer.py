"""Token ids by transformers' tokenizer of Marian:  python scripts/reference/marian_tokenizer.py

test/golden/marian-tokenizer.json has a vocabulary over the pieces of the model of SentencePiece in tokenizers.json beside it, in another order and without
the rarest, with tokens of the written language alone and a language's name, and the ids of texts.
"""

import base64
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import sentencepiece
from transformers import MarianTokenizer

GOLDEN = Path(__file__).parents[2] / 'test' / 'golden'
TEXTS = ['Hello, world.', '>>deu<< the time of the day', 'naïve 中文 №', '  two  spaces ', '', 'Ünïcode 123 foo_bar', "don't I'LL"]


def main():
    model = base64.b64decode(json.loads((GOLDEN / 'tokenizers.json').read_text())['sentencePiece']['model'])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ('source.spm', 'target.spm'):
            (folder / name).write_bytes(model)
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        known = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size()) if not pieces.is_control(i) and not pieces.is_unknown(i)]
        tokens = ['</s>', '<unk>', *sorted(known), '№', '▁Zeit', '>>deu<<', '<pad>']
        (folder / 'vocab.json').write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
        (folder / 'tokenizer_config.json').write_text(json.dumps({'source_lang': 'en', 'target_lang': 'de'}))
        tokenizer = MarianTokenizer.from_pretrained(folder)
        ids = [tokenizer(text).input_ids for text in TEXTS]
        texts = [tokenizer.decode(one, skip_special_tokens=True) for one in ids]
    packages = {package: version(package) for package in ('transformers', 'sentencepiece')}
    document = {'command': 'python scripts/reference/marian_tokenizer.py', 'made_with': packages, 'tokens': tokens, 'texts': TEXTS, 'ids': ids, 'decoded': texts}
    (GOLDEN / 'marian-tokenizer.json').write_text(json.dumps(document, ensure_ascii=False) + '\n')
    print(*zip(TEXTS, ids, texts), sep='\n')


if __name__ == '__main__':
    main()

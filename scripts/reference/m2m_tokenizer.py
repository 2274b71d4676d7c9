"""Token ids by transformers' tokenizer of M2M-100:  python scripts/reference/m2m_tokenizer.py

test/golden/m2m-tokenizer.json has a small model of SentencePiece with merges, a vocabulary over its pieces in another order, and the ids of texts.
"""

import base64
import io
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import sentencepiece
from transformers import M2M100Tokenizer
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

GOLDEN = Path(__file__).parents[2] / 'test' / 'golden'
LEARNED = [
    'the time of the day is the time of the night and the day after the night',
    'die Zeit des Tages und die Zeit der Nacht sind die Zeiten des Jahres',
    'hello world and hello the people of the world, naïve people of the land',
] * 4
# As published files list them.
LANGUAGES = [f'__{code}__' for code in FAIRSEQ_LANGUAGE_CODES['m2m100']]
TEXTS = ['hello the world.', 'die Zeit of the day', 'naïve 中文 land №', '  two  spaces ', '', 'Tages__de__ night', "the people's days"]


def main():
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LEARNED), model_writer=made, model_type='bpe', vocab_size=120,
                                             character_coverage=1.0, minloglevel=2)  # fmt: skip
    model = made.getvalue()
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    known = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size()) if not pieces.is_control(i) and not pieces.is_unknown(i)]
    tokens = ['<s>', '<pad>', '</s>', '<unk>', *sorted(known), '▁unlearned']
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / 'sentencepiece.bpe.model').write_bytes(model)
        (folder / 'vocab.json').write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
        (folder / 'tokenizer_config.json').write_text(json.dumps({'src_lang': 'de', 'additional_special_tokens': LANGUAGES}))
        tokenizer = M2M100Tokenizer.from_pretrained(folder)
        ids = [tokenizer(text).input_ids for text in TEXTS]
        texts = [tokenizer.decode(one, skip_special_tokens=True) for one in ids]
    packages = {package: version(package) for package in ('transformers', 'sentencepiece')}
    document = {'command': 'python scripts/reference/m2m_tokenizer.py', 'made_with': packages, 'model': base64.b64encode(model).decode(), 'tokens': tokens,
                'texts': TEXTS, 'ids': ids, 'decoded': texts}  # fmt: skip
    (GOLDEN / 'm2m-tokenizer.json').write_text(json.dumps(document, ensure_ascii=False) + '\n')
    print(*zip(TEXTS, ids, texts), sep='\n')


if __name__ == '__main__':
    main()

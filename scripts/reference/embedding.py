"""Makes tiny embedding models and what transformers computes with them:  python scripts/reference/embedding.py [NAME…]

test/golden/embedding/<name>/ is a checkpoint in the layout of sentence-transformers (modules.json, 1_Pooling/config.json)
with random weights and a tokenizer trained on the texts below; embeddings.json beside it holds for each text its token
ids and its normalised embedding, computed in f32 one text at a time.
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from safetensors.torch import save_file
from transformers import (
    AutoModel, BertConfig, BertModel, Gemma3TextConfig, Gemma3TextModel, ModernBertConfig, ModernBertModel, Qwen3Config,
    GteConfig, GteModel, JinaEmbeddingsV3Config, JinaEmbeddingsV3Model, NomicBertConfig, NomicBertModel, Qwen3Model,
    XLMRobertaConfig, XLMRobertaModel,
)  # fmt: skip
from recipe import Draws, keep
from rotary_encoders import PUBLISHED, publish

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'embedding'
TEXTS = [
    'A cat sleeps on the warm roof.',
    'The kitten is resting on top of the house.',
    'Interest rates rose again in March, and nobody was surprised.',
    'GPU',
    'Ein Satz auf Deutsch, mit Umlauten: äöü, und ein wenig länger als die anderen, damit er mehr Kacheln braucht als '
    'einer von sechzehn Zeilen, und noch ein Stück weiter, bis er auch über eine Seite des Speichers hinausgeht.',
]


def wordpiece(start, end, pad):
    tokenizer = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = [start, pad, end, '[UNK]']
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=180, special_tokens=specials))
    ids = [(token, tokenizer.token_to_id(token)) for token in (start, end)]
    tokenizer.post_processor = processors.TemplateProcessing(f'{start} $A {end}', f'{start} $A {end} $B {end}', ids)
    return tokenizer, {'cls_token': start, 'sep_token': end, 'pad_token': pad, 'unk_token': '[UNK]'}


def byte_level(end):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[end], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(f'$A {end}', None, [(end, tokenizer.token_to_id(end))])
    return tokenizer, {'eos_token': end, 'pad_token': end}


def draw(model, seed):
    """Standard deviations by role, so that attention is not flat."""
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.2, 1.0 if 'norm' in name.lower() and 'bias' not in name else 0.0)
        elif 'embed' in name:
            weight.data = draws(name, weight.shape, 0.5)
        else:
            gain = 2.0 if any(part in name for part in ('q_proj', 'k_proj', 'query', 'key')) else 1.0
            weight.data = draws(name, weight.shape, gain / weight.shape[1] ** 0.5)
    return draws


SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
BERT = dict(**SMALL, intermediate_size=96, max_position_embeddings=128)


def bert():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, **BERT)
    return BertModel(config), tokenizer, specials, 'mean_tokens', torch.float16


def bert_cls():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, hidden_act='gelu_new', **BERT)
    return BertModel(config), tokenizer, specials, 'cls_token', torch.float32


def bert_26():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    sizes = BERT | {'hidden_size': 104}  # heads of 26 dimensions, as those of rubert-tiny2 and TinyBERT
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, **sizes)
    return BertModel(config), tokenizer, specials, 'cls_token', torch.float16


def roberta():
    tokenizer, specials = wordpiece('<s>', '</s>', '<pad>')
    config = XLMRobertaConfig(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, type_vocab_size=1, **BERT)
    return XLMRobertaModel(config), tokenizer, specials, 'mean_tokens', torch.float16


def gemma3():
    """EmbeddingGemma: windows to both sides, and two Dense modules."""
    tokenizer, specials = byte_level('<eos>')
    config = Gemma3TextConfig(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=112, num_key_value_heads=1, head_dim=16,
        query_pre_attn_scalar=16, max_position_embeddings=256, sliding_window=16, use_bidirectional_attention=True,
        layer_types=['sliding_attention', 'full_attention'], **SMALL,
    )  # fmt: skip
    return Gemma3TextModel(config), tokenizer, specials, 'mean_tokens', torch.float32


def modernbert():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=96, max_position_embeddings=256, pad_token_id=1,
        global_attn_every_n_layers=2, local_attention=16, **SMALL | {'num_hidden_layers': 3},
    )  # fmt: skip
    return ModernBertModel(config), tokenizer, specials, 'cls_token', torch.float32


def qwen3():
    tokenizer, specials = byte_level('<|endoftext|>')
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=112, num_key_value_heads=2, head_dim=16,
        max_position_embeddings=512, tie_word_embeddings=True, **SMALL,
    )  # fmt: skip
    return Qwen3Model(config), tokenizer, specials, 'lasttoken', torch.bfloat16


def rotary(kind, rope, **more):
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config, model = {
        'nomic': (NomicBertConfig, NomicBertModel), 'gte': (GteConfig, GteModel),
        'jina': (JinaEmbeddingsV3Config, JinaEmbeddingsV3Model),
    }[kind]  # fmt: skip
    stated = config(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, rope_parameters=rope, **BERT, **more)
    made = model(stated, add_pooling_layer=False)
    return made, tokenizer, specials, 'cls_token' if kind == 'gte' else 'mean_tokens', torch.float32


def nomic():
    return rotary('nomic', {'rope_type': 'default', 'rope_theta': 1000.0})


def gte():
    """NTK scaling as the published code has it: a larger base, and frequencies divided by the factor's share of two dimensions."""
    return rotary('gte', {'rope_type': 'linear', 'rope_theta': 8 * 500.0, 'factor': 8 ** (2 / 16)})


def jina3():
    return rotary('jina', {'rope_type': 'default', 'rope_theta': 20000.0})


CASES = {
    'bert': bert, 'bert-cls': bert_cls, 'roberta': roberta, 'qwen3': qwen3, 'bert-26': bert_26, 'gemma3': gemma3,
    'modernbert': modernbert, 'nomic': nomic, 'gte': gte, 'jina3': jina3,
}  # fmt: skip
#: Sizes, bias and function of the Dense modules of a case.
DENSE = {'gemma3': [(64, 96, True, 'Tanh'), (96, 48, False, 'Identity')]}
FUNCTIONS = {'Tanh': torch.nn.Tanh(), 'Identity': torch.nn.Identity()}
POOL = {
    'mean_tokens': lambda states: states.mean(0),
    'cls_token': lambda states: states[0],
    'lasttoken': lambda states: states[-1],
}


def write(folder, name, value):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + '\n')


def dense_modules(folder, name, seed):
    """Writes the Dense modules of a case, and returns what they compute."""
    steps = []
    for at, (columns, rows, bias, function) in enumerate(DENSE.get(name, ())):
        module, path = torch.nn.Linear(columns, rows, bias), folder / f'{2 + at}_Dense'
        draws = draw(module, 50 * (at + 1) + seed)
        path.mkdir()
        save_file({f'linear.{part}': value for part, value in module.state_dict().items()}, path / 'model.safetensors')
        keep(path / 'model.safetensors', draws)
        kind = 'linear' if function == 'Identity' else 'activation'
        write(path, 'config.json', {
            'in_features': columns, 'out_features': rows, 'bias': bias,
            'activation_function': f'torch.nn.modules.{kind}.{function}',
        })  # fmt: skip
        steps += [module, FUNCTIONS[function]]
    return torch.nn.Sequential(*steps)


@torch.no_grad()
def make(name, seed):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model, tokenizer, specials, pooling, dtype = CASES[name]()
    draws = draw(model, seed)
    model.to(dtype).save_pretrained(folder)
    keep(folder / 'model.safetensors', draws)
    (folder / 'generation_config.json').unlink(missing_ok=True)
    if name == 'qwen3':  # published so, though the head is not there
        config = json.loads((folder / 'config.json').read_text())
        write(folder, 'config.json', config | {'architectures': ['Qwen3ForCausalLM']})
    tokenizer.save(str(folder / 'tokenizer.json'))
    write(folder, 'tokenizer_config.json', specials)
    dense = dense_modules(folder, name, seed)
    count = len(DENSE.get(name, ()))
    modules = ['', '1_Pooling', *(f'{2 + at}_Dense' for at in range(count)), f'{2 + count}_Normalize']
    types = ['Transformer', 'Pooling', *['Dense'] * count, 'Normalize']
    write(folder, 'modules.json', [
        {'idx': i, 'name': str(i), 'path': path, 'type': f'sentence_transformers.models.{kind}'}
        for i, (path, kind) in enumerate(zip(modules, types, strict=True))
    ])  # fmt: skip
    modes = {f'pooling_mode_{mode}': mode == pooling for mode in POOL}
    write(folder, '1_Pooling/config.json', {'word_embedding_dimension': model.config.hidden_size, **modes})

    reference = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    if name in PUBLISHED:
        publish(folder, name)
    cases = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        pooled = POOL[pooling](reference(torch.tensor([ids])).last_hidden_state[0])
        embedding = torch.nn.functional.normalize(dense(pooled), dim=0)
        cases.append({'text': text, 'ids': ids, 'embedding': [round(value, 7) for value in embedding.tolist()]})
    packages = {package: version(package) for package in ('torch', 'transformers', 'tokenizers')}
    write(folder, 'embeddings.json', {
        'command': 'python scripts/reference/embedding.py', 'made_with': packages, 'cases': cases,
    })  # fmt: skip


if __name__ == '__main__':
    for seed, name in enumerate(CASES):
        if name in (sys.argv[1:] or CASES):
            make(name, seed)

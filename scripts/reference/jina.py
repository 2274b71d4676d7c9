"""Makes tiny models of Jina's classes, which Python code of their repositories defines, and what a reference in plain torch computes with them:
python scripts/reference/jina.py [NAME…]

JinaBERT of both editions and XLM-RoBERTa with fused projections, rotated heads and LoRAs for tasks make vectors (test/golden/embedding); a
classifier of each judges pairs (test/golden/classifiers). Configurations and names of tensors are those of the published repositories.
"""

import json
import shutil
import sys
from importlib.metadata import version

import gguf
import torch
from classifiers import PAIRS
from classifiers import ROOT as CLASSIFIERS
from embedding import ROOT as EMBEDDINGS
from embedding import TEXTS, wordpiece, write
from recipe import Draws, keep, keep_gguf
from safetensors.torch import save_file
from torch.nn.functional import gelu, layer_norm, linear, normalize

HIDDEN, HEADS, FFN, LAYERS, RANK = 48, 6, 64, 2, 4
TASKS = {'retrieval.query': 'A query: ', 'retrieval.passage': 'A document: ', 'text-matching': ''}
BERT_MAP = {
    'AutoConfig': 'jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig',
    'AutoModel': 'jinaai/jina-bert-implementation--modeling_bert.JinaBertModel',
}
FLASH_MAP = {
    'AutoConfig': 'jinaai/xlm-roberta-flash-implementation--configuration_xlm_roberta.XLMRobertaFlashConfig',
    'AutoModel': 'jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA',
}
OWN_FLASH_MAP = {
    'AutoConfig': 'configuration_xlm_roberta.XLMRobertaFlashConfig', 'AutoModel': 'modeling_xlm_roberta.XLMRobertaModel',
    'AutoModelForSequenceClassification': 'modeling_xlm_roberta.XLMRobertaForSequenceClassification',
}  # fmt: skip
SIZES = {
    'hidden_size': HIDDEN, 'num_attention_heads': HEADS, 'num_hidden_layers': LAYERS, 'intermediate_size': FFN, 'hidden_act': 'gelu',
    'pad_token_id': 1,
}  # fmt: skip
JINA_BERT = {
    **SIZES, 'model_type': 'bert', 'auto_map': BERT_MAP, 'layer_norm_eps': 1e-12, 'max_position_embeddings': 256, 'emb_pooler': 'mean',
    'position_embedding_type': 'alibi', 'feed_forward_type': 'geglu', 'type_vocab_size': 2, 'attn_implementation': None,
}  # fmt: skip
FLASH = {**SIZES, 'model_type': 'xlm-roberta', 'layer_norm_eps': 1e-5, 'type_vocab_size': 1, 'use_flash_attn': True}
TASKED = {
    **FLASH, 'architectures': ['XLMRobertaModel'], 'auto_map': FLASH_MAP, 'position_embedding_type': 'rotary', 'rotary_emb_base': 500.0,
    'max_position_embeddings': 194, 'lora_adaptations': list(TASKS), 'lora_alpha': 1, 'lora_rank': RANK, 'lora_dropout_p': 0.0,
    'load_trained_adapters': True, 'task_instructions': TASKS, 'emb_pooler': None, 'truncate_dim': None,
}  # fmt: skip
ONE_LABEL = {'id2label': {'0': 'LABEL_0'}}
CASES = {
    'jina2': (EMBEDDINGS, {**JINA_BERT, 'architectures': ['JinaBertForMaskedLM']}),
    'jina2-code': (EMBEDDINGS, {**JINA_BERT, 'architectures': ['JinaBertModel']}),
    'jina3-tasks': (EMBEDDINGS, TASKED),
    'jina-rank1': (CLASSIFIERS, {**JINA_BERT, 'architectures': ['JinaBertForSequenceClassification'], **ONE_LABEL}),
    'jina-rank2': (CLASSIFIERS, {
        **FLASH, 'architectures': ['XLMRobertaForSequenceClassification'], 'auto_map': OWN_FLASH_MAP, 'max_position_embeddings': 196,
        'position_embedding_type': 'absolute', **ONE_LABEL,
    }),
}  # fmt: skip


class Model:
    """Draws each tensor when it is first asked for, under its published name."""

    def __init__(self, name, config, seed):
        self.config, self.draws, self.weights = config, Draws(seed), {}
        self.isFlash = config['model_type'] == 'xlm-roberta'
        self.isSecond = name == 'jina2-code'
        self.tasks = config.get('lora_adaptations')
        heads = [end for end in config['architectures'] if end.endswith('ForSequenceClassification')]
        self.root = 'roberta.' if self.isFlash else 'bert.' if heads else ''

    def tensor(self, name, shape, scale, offset=0.0):
        if name not in self.weights:
            self.weights[name] = self.draws(name, shape, scale, offset)
        return self.weights[name]

    def weight(self, name, shape, scale, task, embedding=False):
        if not self.tasks:
            return self.tensor(f'{name}.weight', shape, scale)
        base = self.tensor(f'{name}.parametrizations.weight.original', shape, scale)
        rows, k = shape
        count, own = len(self.tasks), f'{name}.parametrizations.weight.0.lora_'
        a = self.tensor(f'{own}A', (count, rows, RANK) if embedding else (count, RANK, k), 0.3)
        b = self.tensor(f'{own}B', (count, RANK, k) if embedding else (count, rows, RANK), 0.3)
        if task is None:
            return base
        at = self.tasks.index(task)
        return base + (a[at] @ b[at] if embedding else b[at] @ a[at]) * self.config['lora_alpha'] / RANK

    def linear(self, x, name, rows, task=None, bias=True, gain=1.0):
        matrix = self.weight(name, (rows, x.shape[-1]), gain * x.shape[-1] ** -0.5, task)
        return linear(x, matrix, self.tensor(f'{name}.bias', (rows,), 0.2) if bias else None)

    def norm(self, x, name):
        parts = self.tensor(f'{name}.weight', (HIDDEN,), 0.2, 1.0), self.tensor(f'{name}.bias', (HIDDEN,), 0.2)
        return layer_norm(x, (HIDDEN,), *parts, self.config['layer_norm_eps'])

    def embedded(self, ids, types, task):
        name = f'{self.root}embeddings'
        words = self.weight(f'{name}.word_embeddings', (self.config['vocab_size'], HIDDEN), 0.5, task, True)
        kinds = self.weight(f'{name}.token_type_embeddings', (self.config['type_vocab_size'], HIDDEN), 0.5, task, True)
        x = words[ids] + kinds[types]
        if self.config['position_embedding_type'] == 'absolute':
            places = self.tensor(f'{name}.position_embeddings.weight', (self.config['max_position_embeddings'], HIDDEN), 0.5)
            x = x + places[self.config['pad_token_id'] + 1 + torch.arange(len(ids))]
        return self.norm(x, f'{self.root}emb_ln' if self.isFlash else f'{name}.LayerNorm')

    def mixed(self, q, k, v):
        rows, dims = len(q), HIDDEN // HEADS
        q, k, v = (part.view(rows, HEADS, dims).transpose(0, 1) for part in (q, k, v))
        bias = torch.zeros(HEADS, rows, rows)
        if self.config['position_embedding_type'] == 'rotary':
            angles = torch.arange(rows)[:, None] * self.config['rotary_emb_base'] ** (-torch.arange(0, dims, 2) / dims)
            cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
            q, k = (y * cos + torch.cat([-y.chunk(2, -1)[1], y.chunk(2, -1)[0]], -1) * sin for y in (q, k))
        elif self.config['position_embedding_type'] == 'alibi':
            places = torch.arange(rows)
            # Of six heads four have the slopes of four, and two every second one of eight.
            slopes = torch.tensor([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])
            bias = -slopes[:, None, None] * (places[:, None] - places).abs()
        return ((q @ k.transpose(1, 2) / dims**0.5 + bias).softmax(-1) @ v).transpose(0, 1).reshape(rows, HIDDEN)

    def flash_layer(self, x, name, task):
        qkv = self.linear(x, f'{name}.mixer.Wqkv', 3 * HIDDEN, task, gain=1.5)
        x = self.norm(x + self.linear(self.mixed(*qkv.chunk(3, -1)), f'{name}.mixer.out_proj', HIDDEN, task), f'{name}.norm1')
        made = self.linear(gelu(self.linear(x, f'{name}.mlp.fc1', FFN, task)), f'{name}.mlp.fc2', HIDDEN, task)
        return self.norm(x + made, f'{name}.norm2')

    def bert_layer(self, x, name):
        own = f'{name}.attention.self'
        q, k = (self.linear(x, f'{own}.{part}', HIDDEN, gain=1.5) for part in ('query', 'key'))
        if self.isSecond:
            q, k = self.norm(q, f'{own}.layer_norm_q'), self.norm(k, f'{own}.layer_norm_k')
        mixed = self.mixed(q, k, self.linear(x, f'{own}.value', HIDDEN))
        out = f'{name}.attention.output'
        y = self.norm(self.linear(mixed, f'{out}.dense', HIDDEN) + x, f'{out}.LayerNorm')
        if self.isSecond:
            x = self.norm(x + y, f'{name}.layer_norm_1')
            up, gate = self.linear(x, f'{name}.mlp.up_gated_layer', 2 * FFN, bias=False).chunk(2, -1)
            return self.norm(x + self.linear(up * gelu(gate), f'{name}.mlp.down_layer', HIDDEN), f'{name}.layer_norm_2')
        gate, up = self.linear(y, f'{name}.mlp.gated_layers', 2 * FFN, bias=False).chunk(2, -1)
        return self.norm(self.linear(gelu(gate) * up, f'{name}.mlp.wo', HIDDEN) + y, f'{name}.mlp.layernorm')

    def states(self, ids, types, task=None):
        x = self.embedded(torch.tensor(ids), torch.tensor(types), task)
        for at in range(LAYERS):
            if self.isFlash:
                x = self.flash_layer(x, f'{self.root}encoder.layers.{at}', task)
            else:
                x = self.bert_layer(x, f'{self.root}encoder.layer.{at}')
        return x

    def values(self, ids, types):
        first = self.states(ids, types)[0]
        if self.isFlash:
            return self.linear(self.linear(first, 'classifier.dense', HIDDEN).tanh(), 'classifier.out_proj', 1)
        return self.linear(self.linear(first, 'bert.pooler.dense', HIDDEN).tanh(), 'classifier', 1)


def gguf_file(name, model, tokenizer, specials):
    """The GGUF file that llama.cpp's converter would make, by the names that the package gguf has for its tensors."""
    target = EMBEDDINGS.parent / 'gguf' / 'embedding' / f'{name}.gguf'
    architecture = gguf.MODEL_ARCH.JINA_BERT_V3 if model.isFlash else gguf.MODEL_ARCH.JINA_BERT_V2
    writer = gguf.GGUFWriter(target, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_context_length(model.config['max_position_embeddings'])
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(model.config['layer_norm_eps'])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    if model.isFlash:
        writer.add_rope_freq_base(model.config['rotary_emb_base'])
    tokens = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_tokenizer_model('bert')
    writer.add_tokenizer_pre('bert-bge')
    special = set(specials.values())
    writer.add_token_list([t if t in special else t[2:] if t.startswith('##') else f'\u2581{t}' for t in tokens])
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_type_count(model.config['type_vocab_size'])
    for role, token in specials.items():
        kind = {'cls_token': 'bos', 'sep_token': 'sep', 'pad_token': 'pad', 'unk_token': 'unk'}[role]
        getattr(writer, f'add_{kind}_token_id')(tokens.index(token))
    names = gguf.get_tensor_name_map(architecture, LAYERS)
    for stored, value in model.weights.items():
        if '.lora_' in stored:
            continue
        plain = stored.removeprefix(model.root).replace('.parametrizations.weight.original', '.weight')
        if plain.endswith('token_type_embeddings.weight') and len(value) == 1:
            value = value[0]
        writer.add_tensor(names.get_name(plain, ('.weight', '.bias')), value.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    keep_gguf(target, model.draws)


def rounded(values):
    return [round(value, 7) for value in values.tolist()]


def vectors(model, tokenizer):
    cases = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        case = {'text': text, 'ids': ids, 'embedding': rounded(normalize(model.states(ids, [0] * len(ids)).mean(0), dim=0))}
        if model.tasks:
            case['tasks'] = {}
            for task, prompt in TASKS.items():
                own = tokenizer.encode(prompt + text).ids
                case['tasks'][task] = rounded(normalize(model.states(own, [0] * len(own), task).mean(0), dim=0))
        cases.append(case)
    return cases


def judged(model, tokenizer):
    cases = []
    for texts in PAIRS:
        whole, cut = tokenizer.encode(*texts), tokenizer
        cut.enable_truncation(24)
        short = cut.encode(*texts)
        tokenizer.no_truncation()
        types = [min(kind, model.config['type_vocab_size'] - 1) for kind in whole.type_ids]
        cases.append({'texts': texts, 'ids': whole.ids, 'types': types, 'cut': short.ids, 'values': rounded(model.values(whole.ids, types))})
    return cases


@torch.no_grad()
def make(name, seed):
    root, config = CASES[name]
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tokenizer, specials = wordpiece('<s>', '</s>', '<pad>')
    if name == 'jina-rank1':
        from tokenizers.processors import TemplateProcessing

        ids = [(token, tokenizer.token_to_id(token)) for token in ('<s>', '</s>')]
        tokenizer.post_processor = TemplateProcessing('<s> $A </s>', '<s> $A </s> $B:1 </s>:1', ids)
    config = {'vocab_size': tokenizer.get_vocab_size(), **config}
    model = Model(name, config, seed)
    make_cases, file = (judged, 'values.json') if root == CLASSIFIERS else (vectors, 'embeddings.json')
    cases = make_cases(model, tokenizer)
    save_file(dict(model.weights), folder / 'model.safetensors', metadata={'format': 'pt'})
    keep(folder / 'model.safetensors', model.draws)
    write(folder, 'config.json', config)
    tokenizer.save(str(folder / 'tokenizer.json'))
    write(folder, 'tokenizer_config.json', specials)
    if root == EMBEDDINGS:
        modules = json.loads((EMBEDDINGS / 'bert' / 'modules.json').read_text())
        if model.tasks:
            modules[0] |= {'type': 'custom_st.Transformer', 'kwargs': ['task']}
        write(folder, 'modules.json', modules)
        write(folder, '1_Pooling/config.json', {'word_embedding_dimension': HIDDEN, 'pooling_mode_mean_tokens': True})
        gguf_file(name, model, tokenizer, specials)
    packages = {package: version(package) for package in ('torch', 'tokenizers')}
    write(folder, file, {'command': 'python scripts/reference/jina.py', 'made_with': packages, 'cases': cases})


if __name__ == '__main__':
    for seed, name in enumerate(CASES):
        if name in (sys.argv[1:] or CASES):
            make(name, 60 + seed)

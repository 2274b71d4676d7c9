import { describe, expect, it } from 'vitest';
import { classOfCode, refuseCustomCode } from '../../../src/files/checkpoint/architecture.ts';
import { EMBEDDING_CLASSES, TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { config, open, refusal, whole } from './memory-checkpoint.ts';

describe('the class that computes a checkpoint', () => {
  const classOf = async (changes: object) => {
    const checkpoint = await open({ ...whole, 'config.json': { ...config, ...changes } });
    return checkpoint.architecture;
  };

  it('is named by architectures, or where they are missing by model_type', async () => {
    expect(await classOf({})).toBe('LlamaForCausalLM');
    expect(await classOf({ architectures: undefined, model_type: 'mistral' })).toBe('MistralForCausalLM');
    expect(await classOf({ architectures: [] })).toBe('LlamaForCausalLM');
    expect(await classOf({ architectures: null })).toBe('LlamaForCausalLM');
    // The spelling of the first conversions.
    expect(await classOf({ architectures: ['LLaMAForCausalLM'] })).toBe('LlamaForCausalLM');
    // transformers goes by model_type.
    expect(await classOf({ architectures: ['MistralForCausalLM'] })).toBe('LlamaForCausalLM');
    expect(await classOf({ model_type: 'unheard' })).toBe('LlamaForCausalLM');
  });

  it.each([
    [
      { architectures: ['RwkvForCausalLM'] },
      'unsupported',
      /^\/m: the architecture is RwkvForCausalLM, which is not built; choose another model: .* lists the classes that run$/,
    ],
    [{ architectures: ['__proto__'] }, 'unsupported', /the architecture is __proto__/],
    [{ architectures: ['constructor'] }, 'unsupported', /the architecture is constructor/],
    [
      { architectures: undefined, model_type: 'constructor' },
      'unsupported',
      /its model_type is "constructor"/,
    ],
    [
      { architectures: [], model_type: 'rwkv' },
      'unsupported',
      /names no architecture, and its model_type is "rwkv"/,
    ],
    [{ architectures: [], model_type: undefined }, 'unsupported', /its model_type is missing/],
    [{ architectures: 'LlamaForCausalLM' }, 'bad_checkpoint', /architectures is "LlamaForCausalLM", a list/],
    [{ architectures: [null] }, 'bad_checkpoint', /architectures is \[null\], a list/],
    [{ architectures: ['BertModel'] }, 'unsupported', /makes embeddings \(by its architecture BertModel\)/],
    [{ architectures: undefined, model_type: 'bert' }, 'unsupported', /makes embeddings/],
  ])('%j is refused', async (changes, code, message) => {
    const error = await refusal({ ...whole, 'config.json': { ...config, ...changes } });
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(message);
  });

  it('of an embedding model is refused with the file that shows the kind, by which a server opens it as one', async () => {
    const changes = { architectures: ['BertModel'], model_type: 'bert' };
    const error = await refusal({ ...whole, 'config.json': { ...config, ...changes } });
    expect(error).toMatchObject({ code: 'unsupported', param: 'modules.json' });
  });

  it('is the true reason for a refusal, whatever the weights are', async () => {
    const { message } = await refusal({
      'config.json': { architectures: ['RwkvForCausalLM'], quantization_config: { quant_method: 'awq' } },
      'pytorch_model.bin': 'x',
    });
    expect(message).toContain('the architecture is RwkvForCausalLM');
  });
});

it.each([
  ['BertForMaskedLM', 'JinaBertModel'],
  ['XForSequenceClassification', 'JinaBertForSequenceClassification'],
  ['HF_ColBERT', null],
  ['XForMultipleChoice', null],
])('the class %s of a configuration that code defines is %s', (name, wanted) => {
  const stated = { auto_map: { AutoConfig: 'owner/name--configuration_bert.JinaBertConfig' } };
  expect(classOfCode(stated, name, EMBEDDING_CLASSES)).toBe(wanted);
  expect(classOfCode({}, name, EMBEDDING_CLASSES)).toBeNull();
});

describe('code in the repository of a model', () => {
  const withMap = (target: string, changes = {}) => ({
    ...whole,
    'config.json': { ...config, auto_map: { AutoModelForCausalLM: target }, ...changes },
  });

  it('that defines a class which is not built is named beside that class', async () => {
    const other = { architectures: ['XForCausalLM'], model_type: 'x' };
    const error = await refusal(withMap('o/r--modeling_x.XForCausalLM', other));
    expect(error).toMatchObject({ code: 'unsupported' });
    expect(error.message).toBe(
      '/m: the architecture is XForCausalLM, which is not built, and Python code of its repository (modeling_x.py) is never run; choose another model: `SUPPORTED` lists the classes that run',
    );
    const unnamed = await refusal(
      withMap('modeling_x.XForCausalLM', { architectures: undefined, model_type: 'x' }),
    );
    expect(unnamed.message).toMatch(
      /its model_type is "x", of which no class is built, and .*modeling_x\.py/,
    );
  });

  it('that puts another class in place of one that is built is refused by its name', async () => {
    const hidden = await refusal(withMap('modeling_x.XForCausalLM'));
    expect(hidden.message).toMatch(
      /^XForCausalLM is defined by Python code in its own repository \(modeling_x\.py, .*: choose a model of the plain class LlamaForCausalLM$/,
    );
  });

  it('that defines a known class anew is refused where it lies in the folder, and only there', async () => {
    const files = {
      ...withMap('modeling_llama.LlamaForCausalLM'),
      'modeling_llama.py': 'class LlamaForCausalLM: ...',
    };
    const { message } = await refusal(files);
    expect(message).toMatch(
      /^LlamaForCausalLM is defined anew by Python code .* \(modeling_llama\.py, auto_map in config\.json\)/,
    );
    expect((await open(withMap('modeling_llama.LlamaForCausalLM'))).tensors.size).toBe(2);
    expect((await open(withMap('o/r--modeling_llama.LlamaForCausalLM'))).tensors.size).toBe(2);
  });

  it('that computes what a class computes which is built in is not needed', () => {
    const name = 'MiniMaxM2ForCausalLM';
    const map = { architectures: [name], auto_map: { AutoModelForCausalLM: `modeling_minimax_m2.${name}` } };
    expect(() => refuseCustomCode(map, ['modeling_minimax_m2.py'], name, TEXT_CLASSES)).not.toThrow();
  });

  it('that only reads the config changes nothing', async () => {
    const auto_map = { AutoConfig: 'configuration_x.XConfig', AutoTokenizer: ['tokenization_x.X', null] };
    const files = { ...whole, 'configuration_x.py': '', 'config.json': { ...config, auto_map } };
    expect((await open(files)).tensors.size).toBe(2);
  });
});

// Folders that hold a model, but not one this engine can open as a language model: each is told apart by its files,
// and the refusal says what to fetch or run instead.

import { EngineError } from '../error.ts';
import { GGUF_REMEDY } from './gguf-sniff.ts';
import { MODULES } from './embedding-folder.ts';
import { isRecord } from '../source.ts';

/** Throws for a folder that is another kind of checkpoint. */
export function refuseForeignFolder(path: string, names: readonly string[]): void {
  const has = (pattern: RegExp) => names.find((name) => pattern.test(name));
  if (names.includes('model_index.json')) {
    throw new EngineError(
      'unsupported',
      `${path} is a diffusion pipeline (model_index.json), not a language model: \`npx svc-engine generate --model-path ${path} --prompt …\` draws with it`,
      { param: 'model_index.json' },
    );
  }
  const safetensors = has(/\.safetensors(\.index\.json)?$/);
  if (safetensors === undefined) {
    const gguf = has(/\.gguf$/i);
    if (gguf !== undefined) {
      throw new EngineError('unsupported', `${path} holds only GGUF weights (${gguf}), and ${GGUF_REMEDY}`, {
        param: gguf,
      });
    }
    const pickle = has(/\.(bin|pt|pth)$|\.bin\.index\.json$/);
    if (pickle !== undefined) {
      throw new EngineError(
        'unsupported',
        `${path} holds its weights as a Python pickle (${pickle}), which can run code when it is read: fetch a revision with model.safetensors, or convert it`,
        { param: pickle },
      );
    }
  }
  if (!names.includes('config.json')) {
    if (names.includes('adapter_config.json')) {
      throw new EngineError(
        'unsupported',
        `${path} is an adapter (adapter_config.json), not a model: open the model that it was trained on`,
        { param: 'adapter_config.json' },
      );
    }
    throw new EngineError(
      'bad_checkpoint',
      `${path} has no config.json: give the folder of a whole checkpoint`,
      {
        param: 'config.json',
      },
    );
  }
  if (safetensors === undefined) {
    throw new EngineError(
      'bad_checkpoint',
      `${path} has a config.json but no safetensors file: fetch model.safetensors as well`,
      { param: 'model.safetensors' },
    );
  }
}

/** Throws for an embedding model: by the files of sentence-transformers, or by an architecture that makes nothing else. */
export function refuseEmbeddingFolder(
  path: string,
  names: readonly string[],
  config: Record<string, unknown>,
): void {
  const { architectures } = config;
  const [architecture] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (!names.includes(MODULES) && !ENCODERS.test(architecture ?? '')) return;
  throw new EngineError(
    'unsupported',
    `${path} makes embeddings, it is not a language model: \`npx svc-engine serve --model-path ${path}\` answers /v1/embeddings with it`,
    { param: MODULES },
  );
}

const ENCODERS = /^(Bert|Roberta|XLMRoberta)Model$/;

/** Throws where config.json says that the weights are packed by a method of its own. */
export function refuseQuantized(path: string, config: Record<string, unknown>): void {
  const { quantization_config: packing } = config;
  if (!isRecord(packing)) return;
  const named = packing['quant_method'];
  const isBitsAndBytes = packing['load_in_4bit'] === true || packing['load_in_8bit'] === true;
  const method = typeof named === 'string' ? named : isBitsAndBytes ? 'bitsandbytes' : 'an unnamed method';
  throw new EngineError(
    'unsupported',
    `${path} is quantized with ${method} (quantization_config), which is not read: take the original checkpoint, and \`quantization\` int4 for its size`,
    { param: 'config.json' },
  );
}

/** Throws where the model is defined by Python code in its repository; `native` are the architectures built in here. */
export function refuseCustomCode(config: Record<string, unknown>, native: readonly string[]): void {
  const { auto_map: map, architectures } = config;
  const names = (Array.isArray(architectures) ? architectures : []).map(String);
  if (!isRecord(map) || names.some((name) => native.includes(name))) return;
  const target = Object.entries(map).find(
    ([role, value]) => role.startsWith('AutoModel') && typeof value === 'string',
  );
  if (target === undefined) return;
  // "modeling_x.XForCausalLM", or "owner/name--modeling_x.XForCausalLM"
  const reference = String(target[1]);
  const module = reference
    .slice(reference.lastIndexOf('--') + 1)
    .replace(/^-/, '')
    .split('.')[0];
  throw new EngineError(
    'unsupported',
    `${names[0] ?? reference} is defined by Python code in its own repository (${module}.py), which is never run: choose a model of ${native.join(', ')}`,
    { param: 'config.json' },
  );
}

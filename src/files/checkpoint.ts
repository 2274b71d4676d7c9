// A Hugging Face checkpoint folder: config, weights in one or many safetensors files, tokenizer, chat template.
// Opening reads headers only. Nothing of the weights is read before the loader asks for it, tensor by tensor.

import { refuseCustomCode, refuseForeignFolder } from './checkpoint-refusal.ts';
import { EngineError } from './error.ts';
import { readSafetensors, type TensorEntry } from './safetensors.ts';
import { isRecord, readJson, readText, type ByteSource, type Folder } from './source.ts';
import type { ChatTemplates } from './template.ts';
import { openTokenizer, type Tokenizer } from './tokenizer.ts';

export interface Checkpoint {
  path: string;
  config: Record<string, unknown>;
  /** generation_config.json; {} where there is none. */
  generationConfig: Record<string, unknown>;
  tensors: Map<string, TensorEntry>;
  /** File names of the weights. */
  shards: string[];
  tokenizer(): Promise<Tokenizer>;
  /** null where the checkpoint has none. */
  chatTemplate: ChatTemplates | null;
  close(): Promise<void>;
}

interface CheckpointOptions {
  /** Architectures that need no code of the repository, whatever its auto_map says. */
  architectures: readonly string[];
}

const INDEX = 'model.safetensors.index.json';

export async function openCheckpoint(
  folder: Folder,
  { architectures }: CheckpointOptions,
): Promise<Checkpoint> {
  const names = await folder.names();
  refuseForeignFolder(folder.path, names);
  const optional = async (name: string): Promise<Record<string, unknown>> =>
    names.includes(name) ? readJson(folder, name) : {};
  const config = await readJson(folder, 'config.json');
  refuseCustomCode(config, architectures);
  const [generationConfig, tokenizerConfig, templateJson] = await Promise.all([
    optional('generation_config.json'),
    optional('tokenizer_config.json'),
    optional('chat_template.json'),
  ]);
  const templateFile = names.includes('chat_template.jinja')
    ? await readText(folder, 'chat_template.jinja')
    : null;
  const { tensors, sources } = await openWeights(folder, names);
  let tokenizer: Promise<Tokenizer> | undefined;
  return {
    path: folder.path,
    config,
    generationConfig,
    tensors,
    shards: sources.map(({ name }) => name),
    tokenizer: () => (tokenizer ??= readTokenizer(folder, names, tokenizerConfig)),
    chatTemplate:
      templates(templateFile) ??
      templates(templateJson['chat_template']) ??
      templates(tokenizerConfig['chat_template']),
    close: async () => void (await Promise.all(sources.map((source) => source.close()))),
  };
}

interface Weights {
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
}

async function openWeights(folder: Folder, names: string[]): Promise<Weights> {
  const index = names.includes('model.safetensors') ? null : await readIndex(folder, names);
  const shards = index === null ? ['model.safetensors'] : [...new Set(index.values())];
  const opened = await Promise.allSettled(shards.map((name) => folder.open(name)));
  const sources = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    const failed = opened.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const tensors = new Map<string, TensorEntry>();
    for (const source of sources) {
      for (const entry of (await readSafetensors(source)).tensors.values()) {
        const other = tensors.get(entry.name);
        if (other !== undefined) {
          throw broken(entry.name, `stands in both ${other.source.name} and ${source.name}`);
        }
        tensors.set(entry.name, entry);
      }
    }
    for (const [name, shard] of index ?? []) {
      const found = tensors.get(name)?.source.name;
      if (found !== shard)
        throw broken(
          name,
          `should stand in ${shard} by ${INDEX}, and ${found === undefined ? 'does not' : `stands in ${found}`}`,
        );
    }
    return { tensors, sources };
  } catch (cause) {
    await Promise.all(sources.map((source) => source.close()));
    throw cause;
  }
}

/** Tensor name → shard, each shard known to be there. */
async function readIndex(folder: Folder, names: string[]): Promise<Map<string, string>> {
  if (!names.includes(INDEX)) {
    const found = names.filter((name) => name.endsWith('.safetensors')).join(', ');
    throw new EngineError(
      'bad_checkpoint',
      `${folder.path} has neither model.safetensors nor ${INDEX} (but ${found}): fetch the whole checkpoint`,
      { param: INDEX },
    );
  }
  const { weight_map: map } = await readJson(folder, INDEX);
  if (!isRecord(map)) throw indexError('has no weight_map');
  const entries = Object.entries(map).map(([tensor, shard]): [string, string] => {
    if (typeof shard !== 'string' || !/^[^/\\]+\.safetensors$/.test(shard)) {
      throw indexError(`puts ${tensor} into ${JSON.stringify(shard)}, which is no file name in the folder`);
    }
    return [tensor, shard];
  });
  const missing = entries.map(([, shard]) => shard).find((shard) => !names.includes(shard));
  if (missing !== undefined) {
    const count = entries.filter(([, shard]) => shard === missing).length;
    throw new EngineError(
      'bad_checkpoint',
      `${missing} is missing from ${folder.path} (${count} of ${entries.length} tensors): fetch the checkpoint again, what is there is kept`,
      { param: missing },
    );
  }
  return new Map(entries);
}

/** The tokenizer of a folder: tokenizer.json, or vocab.json with merges.txt. */
export async function readTokenizer(
  folder: Folder,
  names: string[],
  config: Record<string, unknown>,
): Promise<Tokenizer> {
  const map = names.includes('special_tokens_map.json')
    ? await readJson(folder, 'special_tokens_map.json')
    : {};
  const tokenizerConfig = { ...map, ...config };
  if (names.includes('tokenizer.json')) {
    return openTokenizer({ tokenizerJson: await readJson(folder, 'tokenizer.json'), tokenizerConfig });
  }
  if (names.includes('vocab.json') && names.includes('merges.txt')) {
    const vocab = await readJson(folder, 'vocab.json');
    return openTokenizer({ vocab, merges: await readText(folder, 'merges.txt'), tokenizerConfig });
  }
  if (names.includes('tokenizer.model')) {
    throw new EngineError(
      'unsupported',
      `${folder.path} has its tokenizer only as tokenizer.model (SentencePiece or tiktoken): fetch tokenizer.json from the same or a converted repository`,
      { param: 'tokenizer.model' },
    );
  }
  throw new EngineError(
    'bad_checkpoint',
    `${folder.path} has no tokenizer: fetch tokenizer.json and tokenizer_config.json`,
    {
      param: 'tokenizer.json',
    },
  );
}

/** One template, or a list of { name, template }. */
function templates(value: unknown): ChatTemplates | null {
  if (typeof value === 'string') return { default: value };
  if (!Array.isArray(value)) return null;
  const named = value.flatMap((entry: unknown) =>
    isRecord(entry) && typeof entry['name'] === 'string' && typeof entry['template'] === 'string'
      ? [[entry['name'], entry['template']]]
      : [],
  );
  return named.length === 0 ? null : Object.fromEntries(named);
}

function broken(tensor: string, reason: string): EngineError {
  return new EngineError('bad_checkpoint', `tensor ${tensor} ${reason}: fetch the checkpoint again`, {
    param: tensor,
  });
}

function indexError(reason: string): EngineError {
  return new EngineError('bad_checkpoint', `${INDEX} ${reason}: fetch it again`, { param: INDEX });
}

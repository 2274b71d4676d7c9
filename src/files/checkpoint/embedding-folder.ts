// Settings of sentence-transformers beside a checkpoint: the pooling, whether vectors are normalized, and
// how long a text may be.

import { readDenseModule, type DenseModule } from './dense-modules.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { NO_PROMPTS, readPrompts, type Prompts } from './prompts.ts';
import { readTokenScore, type TokenScore } from './token-score.ts';
import { isRecord, readJson, readJsonValue, type Folder } from '../source.ts';

export type Pooling = 'cls' | 'mean' | 'last';

/** `prompts`: what stands before texts, by the names of what their vectors are for. */
export interface EmbeddingLayout extends Prompts {
  /** Whether files say that the model makes vectors, or judges. */
  isStated: boolean;
  pooling: Pooling;
  normalize: boolean;
  /** Matrices that vectors pass through after pooling. */
  dense: readonly DenseModule[];
  /** The score that a language model gives by its logits in place of a vector; null: it gives vectors. */
  tokenScore: TokenScore | null;
  /** Limit on the tokens of one text; null: the model's context. */
  mostTokens: number | null;
}

/** The layout of a model without files of sentence-transformers. */
export const plainLayout = (pooling: Pooling): EmbeddingLayout => ({
  isStated: false,
  pooling,
  normalize: true,
  dense: [],
  tokenScore: null,
  mostTokens: null,
  ...NO_PROMPTS,
});

/** File whose presence marks a checkpoint for embeddings. */
export const MODULES = 'modules.json';
const MODES: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_lasttoken: 'last',
  cls: 'cls',
  mean: 'mean',
  lasttoken: 'last',
};

/** `otherwise`: the pooling of a checkpoint that states none. */
export async function readEmbeddingLayout(folder: Folder, otherwise: Pooling): Promise<EmbeddingLayout> {
  const names = await folder.names();
  if (!names.includes(MODULES)) return plainLayout(otherwise);
  const modules = await readModules(folder);
  const foreign = modules.find(({ kind }, at) => !isBuilt(kind, modules.slice(0, at)));
  if (foreign) {
    throw unsupported(
      `${folder.path} ends in a ${foreign.kind} module (${MODULES}), which is not built: choose a model whose modules are Transformer, Pooling, Dense and Normalize, or Transformer and LogitScore`,
      MODULES,
    );
  }
  const pooling = modules.find(({ kind }) => kind === 'Pooling');
  const judge = modules.find(({ kind }) => kind === 'LogitScore');
  return {
    isStated: true,
    pooling: pooling ? await readPooling(folder, `${pooling.path}/config.json`) : otherwise,
    normalize: modules.some(({ kind }) => kind === 'Normalize'),
    dense: await Promise.all(
      modules.filter(({ kind }) => kind === 'Dense').map(({ path }) => readDenseModule(folder, path)),
    ),
    tokenScore: judge ? await readTokenScore(folder, judge.path) : null,
    ...(judge ? NO_PROMPTS : await readPrompts(folder, names)),
    mostTokens: names.includes(SETTINGS) ? await readMostTokens(folder) : null,
  };
}

/** Whether modules.json names a module that makes a vector of a text's states; a cross-encoder has none. */
export async function poolsStates(folder: Folder, names: readonly string[]): Promise<boolean> {
  return names.includes(MODULES) && (await readModules(folder)).some(({ kind }) => kind === 'Pooling');
}

/** Vectors pass through Dense modules after pooling, and before they are normalized; logits come of a language model alone. */
function isBuilt(kind: string, before: readonly { kind: string }[]): boolean {
  if (kind === 'LogitScore') return before.length === 1;
  if (kind !== 'Dense') return ['Transformer', 'Pooling', 'Normalize'].includes(kind);
  return before.some((one) => one.kind === 'Pooling') && !before.some((one) => one.kind === 'Normalize');
}

const SETTINGS = 'sentence_bert_config.json';

async function readMostTokens(folder: Folder): Promise<number | null> {
  const { max_seq_length: most = null } = await readJson(folder, SETTINGS);
  if (most === null || (Number.isSafeInteger(most) && (most as number) > 0)) return most as number | null;
  throw badCheckpoint(
    `${SETTINGS} in ${folder.path}: max_seq_length is ${JSON.stringify(most)}, a positive integer or null is needed`,
    'max_seq_length',
  );
}

async function readModules(folder: Folder): Promise<{ kind: string; path: string }[]> {
  const value = await readJsonValue(folder, MODULES);
  const wrong = (problem: string): EngineError =>
    badCheckpoint(`${MODULES} in ${folder.path} ${problem}: put the published file in its place`, MODULES);
  if (!Array.isArray(value)) throw wrong('is not a list of modules');
  if (value.length === 0) throw wrong('lists no modules');
  return value.map((entry: unknown, at) => {
    const { type, path = '' } = isRecord(entry) ? entry : {};
    if (typeof type !== 'string') throw wrong(`gives module ${at} no type`);
    if (typeof path !== 'string' || !isInside(path))
      throw wrong(`gives module ${at} the path ${JSON.stringify(path)}, which is not in the folder`);
    return { kind: type.split('.').at(-1)!, path };
  });
}

/** Whether a relative path stays below its folder. */
const isInside = (path: string): boolean =>
  !/^[/\\]|^[A-Za-z]:/.test(path) && !path.split(/[/\\]/).includes('..');

/** Older files have a flag for each pooling mode, newer ones a name. */
async function readPooling(folder: Folder, name: string): Promise<Pooling> {
  const config = await readJson(folder, name);
  const named = config['pooling_mode'];
  const modes =
    named === undefined
      ? Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true)
      : [named].flat().map(String);
  const [mode] = modes;
  const pooling = mode === undefined || !Object.hasOwn(MODES, mode) ? undefined : MODES[mode];
  if (pooling && modes.length === 1) return pooling;
  throw unsupported(
    `${name}: pooling by ${modes.join(' and ') || 'nothing'} is not built; choose a model that pools by the mean, the first or the last token`,
    name,
  );
}

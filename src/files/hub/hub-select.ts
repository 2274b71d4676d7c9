// Selects the files of a repository that inference needs: configuration, tokenizer and weights, without duplicates of weights.
import { type Prose, say } from '../message.ts';
import { extensionOf, folderOf, nameOf } from '../posix-path.ts';
import { type EngineError, modelNotFound, unsupported } from '../error.ts';
import { isLayoutWeights, isSafetensors, isTensorFile, isTorchName } from '../tensors/tensor-file.ts';
import { isGgufName } from '../gguf/file-names.ts';
import { NO_FOLDERS, type PipelineFolders } from '../pipeline/pipeline-classes.ts';

interface Named {
  path: string;
}

/** Folders that hold the same weights for other programs, or for training. */
const FOREIGN_FOLDERS = /^(original|metal|onnx|openvino|coreml|gguf|flax|tf|runs|logs|checkpoint-\d+|\..*)$/i;
/** Suffix of a second precision or an averaged copy beside the plain file, as in model.fp16.safetensors. */
const VARIANT = /[._-](fp16|bf16|fp32|fp8|non_ema|ema)$/i;
const HALF = /\.fp16$/i;
const SHARD = /-\d{5}-of-\d{5}(?=\.)/;

export const isWeights = (path: string): boolean => isTensorFile(path) || isGgufName(path);
const isSettings = (path: string): boolean => /\.(json|txt|jinja)$/.test(path);
/** Not read, but downloaded if it is the only tokenizer, so that the refusal can name it. */
const LONE_TOKENIZER = 'tokenizer.model';
const TOKENIZERS = /(^|\/)(tokenizer\.json|vocab\.(json|txt))$/;
/** The tokenizers of T5, Marian and M2M-100, which are read where their folders have no tokenizer.json. */
const SPIECE = /(^|\/)(spiece\.model|source\.spm|sentencepiece\.bpe\.model)$/;

const isSpiece = (path: string, files: readonly Named[]): boolean =>
  SPIECE.test(path) && !files.some((other) => other.path === path.replace(SPIECE, '$1tokenizer.json'));

const INDEX = 'model_index.json';

/** Returns the files of one component of a pipeline; all files if the model is not a pipeline. */
function filesOf<F extends Named>(component: string | undefined, files: F[]): F[] {
  if (component === undefined || !files.some(({ path }) => path === INDEX)) return files;
  return files.filter(({ path }) => path === INDEX || path.startsWith(`${component}/`));
}

/** Files of a pipeline's component without weights, as a tokenizer, or of one that is missing; undefined for components with weights. */
function weightless(
  component: string | undefined,
  files: readonly Named[],
  { weights }: PipelineFolders,
): ((path: string) => boolean) | undefined {
  if (component === undefined || !files.some(({ path }) => path === INDEX)) return undefined;
  if (weights.has(component) && files.length > 1) return undefined;
  return (path) => isSettings(path) || isSpiece(path, files);
}

interface SelectOptions {
  component?: string;
  pipelines?: PipelineFolders;
  allow?: (path: string) => boolean;
  singleFiles?: boolean;
}

/** Returns the files to download. `allow` replaces these rules; `component`: the only component of a pipeline to take. */
export function selectFiles<F extends Named>(
  id: string,
  { files: all, baseModel }: { files: F[]; baseModel: string | null },
  { component, pipelines: folders = NO_FOLDERS, ...options }: SelectOptions,
): F[] {
  const files = filesOf(component, all);
  const allow = options.allow ?? weightless(component, files, folders);
  if (allow) {
    const chosen = files.filter(({ path }) => allow(path));
    if (chosen.length === 0)
      throw unsupported(`${id} has none of the files asked for; it holds ${contents(files)}`);
    return chosen;
  }
  const isForeign = (path: string): boolean =>
    path
      .split('/')
      .slice(0, -1)
      .some((folder) => FOREIGN_FOLDERS.test(folder));
  const isPipeline = files.some(({ path }) => path === INDEX);
  const isUnread = (name: string): boolean => {
    const beside = folders.beside?.get(name);
    const isRead = beside !== undefined && files.some(({ path }) => path.startsWith(`${beside}/`));
    return folders.unread.has(name) && !isRead;
  };
  const native = files.filter(({ path }) => !isForeign(path) && !(isPipeline && isUnread(componentOf(path))));
  if (options.singleFiles && !native.some(({ path }) => IN_FOLDERS.test(path)))
    return [onlyFile(id, native, baseModel), ...adapterSettings(native)];
  const weights = chooseWeights(preferred(native), isPipeline ? folders : null);
  if (weights.length === 0) throw noWeights(id, files, baseModel);
  // An index is kept if its shards are.
  const stems = new Set(weights.map(({ path }) => stemOf(path)));
  const isOrphanIndex = (path: string): boolean => path.endsWith('.index.json') && !stems.has(stemOf(path));
  const isLone = !native.some(({ path }) => TOKENIZERS.test(path));
  const settings = native.filter(
    ({ path }) => isSettings(path) || isSpiece(path, native) || (isLone && path === LONE_TOKENIZER),
  );
  return [...settings.filter(({ path }) => !isOrphanIndex(path)), ...weights];
}

/** Files of models that consist of several files. */
const IN_FOLDERS = /^(.*\/)?(model_index|config)\.json$|\.(safetensors|bin)\.index\.json$/;
/** Most files that a message names. */
const MOST_NAMED = 8;

/** The file in which PEFT says how strong a LoRA is. */
const ADAPTER_SETTINGS = 'adapter_config.json';

const adapterSettings = <F extends Named>(files: readonly F[]): F[] =>
  files.filter(({ path }) => path === ADAPTER_SETTINGS);

/** The only weights of a repository of single files. Throws model_not_found where there are several. */
function onlyFile<F extends Named>(id: string, files: readonly F[], baseModel: string | null): F {
  const safe = files.filter(({ path }) => isSafetensors(path));
  const weights = safe.length > 0 ? safe : files.filter(({ path }) => isTorchName(path));
  const [only] = weights;
  if (only === undefined) throw noWeights(id, [...files], baseModel);
  if (weights.length === 1) return only;
  const names = weights.slice(0, MOST_NAMED).map(({ path }) => path);
  throw modelNotFound(
    `${id} holds ${weights.length} files of tensors and no model_index.json: name one as ${id}:${only.path}; it has ${names.join(', ')}${weights.length > MOST_NAMED ? ' …' : ''}`,
    'model',
  );
}

/** The file that a repository's selection consists of; null: it has several. */
export function singleFile<F extends Named>(chosen: readonly F[]): F | null {
  return chosen.length === 1 && isTensorFile(chosen[0]!.path) ? chosen[0]! : null;
}

/** Returns the path without shard number and extension. */
const stemOf = (path: string): string =>
  path.replace(SHARD, '').replace(/\.(safetensors|bin|ckpt|pt|pth)(\.index\.json)?$/, '');

/** The folder of a file at the root of a repository: a component of a pipeline. */
const componentOf = (path: string): string => path.slice(0, Math.max(0, path.indexOf('/')));

/** `folders`: those of a pipeline; null: the model is none. */
function chooseWeights<F extends Named>(weights: F[], folders: PipelineFolders | null): F[] {
  // A pipeline's weights are in the folders of its components; files at its root are single-file copies of everything.
  const inComponents = weights.filter(({ path }) => folders?.weights.has(componentOf(path)));
  const candidates = inComponents.length > 0 ? inComponents : weights;
  const stems = new Set(candidates.map(({ path }) => stemOf(path)));
  return candidates.filter(({ path }) => {
    const stem = stemOf(path);
    // The half precision copy of a component gives equal images with half the bytes.
    if ((folders || isDiffusers(path)) && (HALF.test(stem) || stems.has(`${stem}.fp16`)))
      return HALF.test(stem);
    const isVariant = VARIANT.test(stem) && stems.has(stem.replace(VARIANT, ''));
    return !isVariant && !candidates.some((other) => standsFor(other.path, path));
  });
}

/** Returns true if a file duplicates the weights of another file in the layout that is read here. */
function standsFor(path: string, other: string): boolean {
  if (folderOf(path) !== folderOf(other)) return false;
  return (isConsolidated(other) && !isConsolidated(path)) || (isDiffusers(path) && !isDiffusers(other));
}

/** The weights of each folder: safetensors, and of a folder that has none what torch saved. */
function preferred<F extends Named>(files: readonly F[]): F[] {
  const safe = files.filter(({ path }) => isSafetensors(path));
  const known = new Set(safe.map(({ path }) => folderOf(path)));
  return [...safe, ...files.filter(({ path }) => isLayoutWeights(path) && !known.has(folderOf(path)))];
}

/** Mistral repositories contain their weights a second time under this name, in their own layout. */
const isConsolidated = (path: string): boolean => nameOf(path).startsWith('consolidated');
/** Autoencoders often have a second copy for other programs. */
const isDiffusers = (path: string): boolean => nameOf(path).startsWith('diffusion_pytorch_model');

function noWeights(id: string, files: Named[], baseModel: string | null): EngineError {
  const has = (ending: RegExp): boolean => files.some(({ path }) => ending.test(path));
  let remedy: Prose = 'name a repository with .safetensors weights';
  if (has(/\.gguf$/i)) {
    remedy = baseModel
      ? `GGUF files are read one at a time: name one as ${id}:FILE, or fetch ${baseModel}, which its card names as the original`
      : `GGUF files are read one at a time: name one as ${id}:FILE`;
  } else if (has(/\.(bin|pt|pth|ckpt)$/i)) {
    remedy =
      "of torch's files those in the layout of transformers or diffusers are read (pytorch_model.bin), or one that is named";
  }
  return unsupported(say`${id} has no .safetensors weights, it holds ${contents(files)}; ${remedy}`);
}

/** '3 .gguf, 1 .md': what a repository holds, most frequent first. */
function contents(files: Named[]): string {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const ending = extensionOf(path) || nameOf(path);
    counts.set(ending, (counts.get(ending) ?? 0) + 1);
  }
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6);
  return most.length === 0 ? 'no files' : most.map(([ending, count]) => `${count} ${ending}`).join(', ');
}

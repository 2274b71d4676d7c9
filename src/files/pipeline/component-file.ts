// One component of a pipeline in a file of its own, or in a file with others, whose layout its names show.

import { EngineError } from '../error.ts';
import type { KnownClasses } from '../checkpoint/architecture.ts';
import { openGgufCheckpoint } from '../gguf/checkpoint.ts';
import { isGgufName } from '../gguf/file-names.ts';
import { openGgufFiles } from '../gguf/open-files.ts';
import { openGgufTower, type GgufTower } from '../gguf/tower.ts';
import type { Folder } from '../source.ts';
import type { FileLayouts } from './file-layout.ts';
import { closeFile, filePath, findPart, openFile, openPart, underPath } from './file-parts.ts';
import type { ComponentClasses } from './pipeline-classes.ts';
import type { PipelineComponent } from './pipeline.ts';

/** What is known about files of components. */
export interface KnownFiles {
  layouts: FileLayouts | undefined;
  /** Classes of language models, whose GGUF files state their configuration. */
  text: KnownClasses;
  /** Vision towers that lie in GGUF files beside them. */
  towers: readonly GgufTower[];
}

/** Throws unsupported for a file in which the component is not found. */
export async function openComponentFile(
  folder: Folder,
  name: string,
  component: string,
  declared: ComponentClasses,
  known: KnownFiles,
): Promise<PipelineComponent> {
  const { classes } = declared;
  if (isGgufName(name) && declared.library === 'transformers') {
    const language = await languageModel(folder, name, component, declared, known);
    if (language !== null) return language;
  }
  const file = await openFile(folder, name);
  try {
    const { layouts } = known;
    const candidates = layouts?.parts[declared.base ?? component] ?? [];
    const part = underPath(file.path, () => findPart(file.tensors, candidates));
    if (part === null || !(classes ?? [part.className]).includes(part.className)) {
      throw new EngineError(
        'unsupported',
        `${file.path} holds no ${component} of this pipeline: its tensors have names such as ${[...file.tensors.keys()][0] ?? 'none'}; give the file or the folder of one`,
        { param: 'componentPaths' },
      );
    }
    const config = { ...part.config, ...layouts?.configs[component] };
    const weights = () => openPart(folder, name, part);
    const { className } = part;
    const own = file.hasTokenizer === true && { hasTokenizer: true as const };
    return {
      name: component,
      className,
      kind: 'model',
      folder,
      config,
      impliedBy: file.path,
      weights,
      ...own,
    };
  } finally {
    await closeFile(file);
  }
}

/** A language model in a GGUF file of llama.cpp; null: the file holds another architecture. */
async function languageModel(
  folder: Folder,
  name: string,
  component: string,
  { classes }: ComponentClasses,
  { text, towers }: KnownFiles,
): Promise<PipelineComponent | null> {
  const { keys, sources } = await openGgufFiles(folder, name);
  await Promise.all(sources.map((source) => source.close()));
  const stated = keys.get('general.architecture');
  if (typeof stated !== 'string' || text.gguf?.().has(stated) !== true) return null;
  const opened = await openGgufCheckpoint(folder, name, text);
  await Promise.all(opened.sources.map((source) => source.close()));
  const { architecture: className, config } = opened;
  const tower = towers.find((one) => one.text === stated && classes?.includes(one.className) === true);
  if (tower !== undefined) {
    const own = await withTower(folder, name, {
      component,
      text,
      tower,
      needed: !classes!.includes(className),
    });
    if (own !== null) return own;
  }
  if (classes !== null && !classes.includes(className)) {
    throw new EngineError(
      'unsupported',
      `${name} in ${folder.path} holds a ${className}, and the ${component} of this pipeline is ${classes.join(' or ')}: give the file of one`,
      { param: 'componentPaths' },
    );
  }
  const weights = async () => {
    const { tensors, sources: own } = await openGgufCheckpoint(folder, name, text);
    return { tensors, sources: own, path: folder.path };
  };
  const impliedBy = filePath(folder, name);
  return {
    name: component,
    className,
    kind: 'model',
    folder,
    config,
    impliedBy,
    weights,
    hasTokenizer: true,
  };
}

interface TowerRequest {
  component: string;
  text: KnownClasses;
  tower: GgufTower;
  /** Whether the component cannot be computed without it. */
  needed: boolean;
}

/** A language model with the vision tower beside it; null: there is none, and none is needed. */
async function withTower(
  folder: Folder,
  name: string,
  { component, text, tower, needed }: TowerRequest,
): Promise<PipelineComponent | null> {
  const names = await folder.names();
  const open = async () => {
    const language = await openGgufCheckpoint(folder, name, text);
    try {
      const vision = await openGgufTower(folder, names, tower);
      return { language, vision, sources: [...language.sources, ...(vision?.sources ?? [])] };
    } catch (error) {
      await Promise.all(language.sources.map((source) => source.close()));
      throw error;
    }
  };
  const { language, vision, sources } = await open();
  const { keys } = language;
  await Promise.all(sources.map((source) => source.close()));
  if (vision === null) {
    if (!needed) return null;
    throw new EngineError(
      'unsupported',
      `${name} in ${folder.path} holds a language model, and the ${component} of this pipeline sees images too: put its vision tower (mmproj-….gguf) into one folder with it, and give the folder`,
      { param: 'componentPaths' },
    );
  }
  const weights = async () => {
    const again = await open();
    const tensors = new Map([...again.language.tensors, ...again.vision!.tensors]);
    return { tensors, sources: again.sources, path: folder.path };
  };
  const config = tower.config(language.config, { text: keys, tower: vision.keys });
  const impliedBy = filePath(folder, name);
  const { className } = tower;
  return {
    name: component,
    className,
    kind: 'model',
    folder,
    config,
    impliedBy,
    weights,
    hasTokenizer: true,
  };
}

// The pipeline classes of image families, and what files/pipeline needs to know of them. The families are those that are built in unless a caller
// gives others.

import type {
  KnownPipelines,
  PipelineClass,
  PipelineFolders,
} from '../../../files/pipeline/pipeline-classes.ts';
import { QWEN2_5_VISION_GGUF } from '../../../models/vision/qwen/qwen-vision-gguf.ts';
import { TEXT_CLASSES } from '../../opening/architectures.ts';
import { PREVIEW_DECODER } from '../components/preview-decoder.ts';
import { FAMILIES } from './built-in.ts';
import type { ImageFamily, PipelineSet, PipelineTask } from '../blocks/family.ts';
import { UPSCALING } from '../layouts/upscaler.ts';
import { taskOfClassName, UNBUILT, UNBUILT_FILES, UNREAD_COMPONENTS, UNREAD_TENSORS } from './unbuilt.ts';

/** A pipeline class with the declaration of its family and set. */
export interface PipelineEntry {
  className: string;
  family: ImageFamily;
  set: PipelineSet;
  task: PipelineTask;
  /** All families that are open to choice, this one among them. */
  families: readonly ImageFamily[];
}

function entriesOf(families: readonly ImageFamily[]): PipelineEntry[] {
  return families.flatMap((family) =>
    family.pipelines.flatMap((set) =>
      Object.entries(set.classes).map(([task, className]) => ({
        className,
        family,
        set,
        task: task as PipelineTask,
        families,
      })),
    ),
  );
}

/** The families that are built in. */
export function imageFamilies(): readonly ImageFamily[] {
  return FAMILIES;
}

/** Returns the declaration of a class. */
export function pipelineEntry(className: string, families: readonly ImageFamily[] = FAMILIES): PipelineEntry {
  const found = entriesOf(families).find((entry) => entry.className === className);
  if (found) return found;
  throw new Error(`${className} is in no image family`);
}

/** Frames that a class draws unless its model or a request says otherwise; 1 for a class of images or of no family. */
export function usualFrames(className: string): number {
  const found = entriesOf(FAMILIES).find((entry) => entry.className === className);
  return found?.family.defaults.frames ?? 1;
}

/** Returns the class for a task; if its set has none, that of the nearest simpler task. */
export function entryFor(entry: PipelineEntry, task: PipelineTask): PipelineEntry {
  const { 'image-to-image': fromImage, inpainting } = entry.set.classes;
  if (task === 'inpainting' && inpainting !== undefined) return { ...entry, task, className: inpainting };
  if (task !== 'text-to-image' && fromImage !== undefined)
    return { ...entry, task: 'image-to-image', className: fromImage };
  return entry;
}

/** Collects what files/pipeline needs to know of the families. */
export function knownPipelines(families: readonly ImageFamily[] = FAMILIES): KnownPipelines {
  const classes = entriesOf(families).map(({ className, family, set, task }): [string, PipelineClass] => [
    className,
    {
      family: family.name,
      task,
      variants: set.classes,
      components: { ...UPSCALING, ...family.components, ...set.components, ...PREVIEW_DECODER },
      ...(family.files && { layouts: family.files }),
    },
  ]);
  return {
    classes: new Map(classes),
    unread: UNREAD_COMPONENTS,
    unbuilt: UNBUILT,
    layouts: families.flatMap(({ files }) => files ?? []),
    unbuiltFiles: UNBUILT_FILES,
    unreadTensors: UNREAD_TENSORS,
    text: TEXT_CLASSES,
    towers: [QWEN2_5_VISION_GGUF],
    taskOf: taskOfClassName,
    classOfModelId(id) {
      const family = families.findLast(({ modelIds }) => modelIds.test(id));
      return Object.values(family?.pipelines[0]?.classes ?? {})[0] ?? null;
    },
  };
}

/** Names of the components of all families, by what is taken of them from a hub. */
export function pipelineFolders(): PipelineFolders {
  const components = FAMILIES.flatMap(({ components, pipelines }) =>
    [components, ...pipelines.map((set) => set.components ?? {})].flatMap((some) => Object.entries(some)),
  );
  return {
    weights: new Set(
      components.flatMap(([name, { kind, onlyGiven }]) => (kind === 'model' && !onlyGiven ? [name] : [])),
    ),
    replaceable: new Set(FAMILIES.map(({ autoencoder }) => autoencoder)),
    beside: new Map(
      components.flatMap(([name, { beside }]) => (beside === undefined ? [] : [[name, beside]])),
    ),
    unread: new Set(UNREAD_COMPONENTS.keys()),
  };
}

/** The pipeline classes that are built in, each with its task. */
export function pipelineTasks(): Record<string, PipelineTask> {
  return Object.fromEntries(entriesOf(FAMILIES).map(({ className, task }) => [className, task]));
}

/** Returns true if a name implies a family or defaults. */
export function isKnownName(name: string, families: readonly ImageFamily[] = FAMILIES): boolean {
  return families.some(
    ({ modelIds, namedDefaults }) => modelIds.test(name) || namedDefaults.some(([words]) => words.test(name)),
  );
}

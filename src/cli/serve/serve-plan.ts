// The models that `svc serve` opens: folders or ids, served names and kinds.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type AnyKind, MODEL_KINDS, shippedImageModelPath, shippedModelPath } from '../../index.ts';
import { UsageError } from '../process/exit.ts';

export interface PlannedModel {
  path: string;
  /** Served names; default: the model's own name. */
  names?: string[];
  /** null until the model is downloaded and its config.json is read. */
  kind: AnyKind | null;
  /** The model was not requested explicitly; if it fails to open, the others are served without it. */
  optional: boolean;
}

/** Pairs paths with served names. Throws UsageError for duplicate or surplus names. */
export function planModels(paths: string[], names: string[] = []): PlannedModel[] {
  const models = paths.length > 0 ? paths.map((path) => plannedModel(path)) : shippedModels();
  const twice = models.find(
    ({ path }, at) => models.findIndex((other) => nameOf(other.path) === nameOf(path)) < at,
  );
  if (twice && names.length < models.length) {
    throw new UsageError(
      `two models are called ${nameOf(twice.path)}: tell them apart with --served-model-name, one name for each`,
    );
  }
  const [only] = models;
  if (models.length === 1 && only) return [{ ...only, ...(names.length > 0 && { names }) }];
  if (names.length > models.length) {
    throw new UsageError(
      `--served-model-name has ${names.length} names for ${models.length} models: give one for each, in their order`,
    );
  }
  return models.map((model, at) => {
    const name = names[at];
    return { ...model, ...(name !== undefined && { names: [name] }) };
  });
}

/** The served name is the folder's name, or the full id with its owner. */
function plannedModel(path: string): PlannedModel {
  return { path, kind: kindOf(path), optional: false, ...(!isLocal(path) && { names: [path] }) };
}

/** Whether a path, or the folder before a quantization (folder:Q4_K_M), is there. */
function isLocal(path: string): boolean {
  return existsSync(path) || existsSync(path.replace(/:[\w-]+$/, ''));
}

/** The kind of a model by the files of its folder; null if they do not determine it. */
function kindOf(path: string): AnyKind | null {
  const stated = classOf(path);
  const shows = ({ file, classes = [] }: AnyKind): boolean =>
    (file !== undefined && existsSync(join(path, file))) || classes.includes(stated);
  return Object.values<AnyKind>(MODEL_KINDS).find(shows) ?? null;
}

/** The class that config.json names; '' where there is none, or no such file that can be read. */
function classOf(path: string): string {
  try {
    const { architectures } = JSON.parse(readFileSync(join(path, 'config.json'), 'utf8')) as {
      architectures?: string[];
    };
    return architectures?.[0] ?? '';
  } catch {
    return '';
  }
}

function shippedModels(): PlannedModel[] {
  const chat: PlannedModel = { path: shippedModelPath(), kind: MODEL_KINDS.text, optional: false };
  const path = shippedImageModelPath();
  const kind = kindOf(path);
  return kind ? [chat, { path, kind, optional: true }] : [chat];
}

const nameOf = (path: string): string => (existsSync(path) ? basename(resolve(path)) : path);

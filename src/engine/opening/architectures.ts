// The classes of checkpoints that each kind of model is opened with, read from the registry of text architectures.

import type { KnownClasses } from '../../files/checkpoint/architecture.ts';
import { transcriberClasses } from '../../models/audio/transcribers.ts';
import { classTemplate } from '../../models/text/chat-templates.ts';
import {
  derivedVectors,
  fusedExperts,
  ggufClasses,
  textClasses,
  transposedMatrices,
} from '../../models/text/registry.ts';
import { GGUF_TOWERS, mediaClasses, mediaHalf } from '../../models/towers/media-families.ts';
import { CODE_ONLY } from '../../models/text/wrappers.ts';

function modelTypes(): ReadonlyMap<string, string> {
  const named = textClasses().flatMap(({ name, modelType }): [string, string][] =>
    modelType === null ? [] : [[modelType, name]],
  );
  return new Map(named);
}

/** `model_type` as config.json states it, else the one that means the class; undefined where there is none. */
export function modelTypeOf(
  config: Readonly<Record<string, unknown>>,
  className: string,
): { modelType?: string } {
  const stated = config['model_type'];
  if (typeof stated === 'string' && stated !== '') return { modelType: stated };
  const known = textClasses().find(({ name }) => name === className)?.modelType;
  return known ? { modelType: known } : {};
}

const transcribers = (): string[] => transcriberClasses().map(({ name }) => name);

function generators(): string[] {
  return textClasses()
    .filter(({ serves }) => serves.includes('generate'))
    .map(({ name }) => name);
}

/** Classes that only embedding models use. */
function embeddersOnly(): string[] {
  return textClasses()
    .filter(({ serves }) => !serves.includes('generate'))
    .map(({ name }) => name);
}

/** Classes that Python code of their repositories defined first. */
function codedClasses(): string[] {
  const coded = textClasses().filter(({ needsNoCode = false }) => needsNoCode);
  return [...CODE_ONLY, ...coded.map(({ name }) => name)];
}

/** Classes by the configurations that such code defines for them. */
function classesOfCode(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { name, codeConfig } of textClasses()) {
    if (codeConfig === undefined) continue;
    found.set(codeConfig, [...(found.get(codeConfig) ?? []), name]);
  }
  return found;
}

export const TEXT_CLASSES: KnownClasses = {
  get names() {
    return generators();
  },
  get modelTypes() {
    return modelTypes();
  },
  get embeddings() {
    return embeddersOnly();
  },
  get transcribers() {
    return transcribers();
  },
  gguf: ggufClasses,
  towers: () => GGUF_TOWERS,
  fusedExperts,
  transposed: transposedMatrices,
  derived: derivedVectors,
  purpose: 'run',
  textHalf: mediaHalf,
  template: classTemplate,
  get codeOnly() {
    return codedClasses();
  },
  get ofCode() {
    return classesOfCode();
  },
  role: 'AutoModelForCausalLM',
};

export const EMBEDDING_CLASSES: KnownClasses = {
  get names() {
    const both = textClasses().filter(
      ({ serves }) => serves.includes('generate') && serves.includes('embed'),
    );
    return [...embeddersOnly(), ...both.map(({ name }) => name)];
  },
  get modelTypes() {
    return modelTypes();
  },
  get otherwise() {
    return [...generators(), ...mediaClasses()];
  },
  get transcribers() {
    return transcribers();
  },
  gguf: ggufClasses,
  fusedExperts,
  transposed: transposedMatrices,
  purpose: 'make embeddings',
  get codeOnly() {
    return codedClasses();
  },
  get ofCode() {
    return classesOfCode();
  },
  role: 'AutoModel',
};

/** The classes of embedding models, as the options of one ask for them. */
export const embeddingClasses = ({ judge }: { judge?: boolean | undefined }): KnownClasses =>
  judge ? { ...EMBEDDING_CLASSES, rerankersBy: 'judge' } : EMBEDDING_CLASSES;

export const TRANSCRIPTION_CLASSES: KnownClasses = {
  get names() {
    return transcribers();
  },
  get modelTypes() {
    return new Map(transcriberClasses().map(({ name, modelType }) => [modelType, name]));
  },
  get otherwise() {
    return [...generators(), ...mediaClasses()];
  },
  purpose: 'transcribe sounds',
  role: 'AutoModelForSpeechSeq2Seq',
};

// The text architectures that are built in. A new family is one line here.

import { unsupported } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import { listsClasses } from '../../files/openers.ts';
import type { ExpertOrder } from '../../files/checkpoint/fused-experts.ts';
import type { DerivedVectors } from '../../files/tensors/derived.ts';
import type { GgufClass } from '../../files/gguf/model.ts';
import type { ConfigSource } from '../../files/checkpoint/opened-checkpoint.ts';
import { CONFIG_JSON, type ConfigFile, type Json } from '../config-values.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from './blocks/architecture.ts';
import { BAMBA } from './bamba/bamba-architecture.ts';
import { BART } from './bart/bart-architecture.ts';
import { BERT } from './bert/bert-architecture.ts';
import { COHERE } from './cohere/cohere-architecture.ts';
import { FALCON_H1 } from './falcon-h1/falcon-h1-architecture.ts';
import { DEEPSEEK } from './deepseek/deepseek-architecture.ts';
import { metadataKeys } from './blocks/gguf-config.ts';
import { DEBERTA } from './deberta/deberta-architecture.ts';
import { DECI } from './deci/deci-architecture.ts';
import { EXAONE4 } from './exaone4/exaone4-architecture.ts';
import { GEMMA } from './gemma/gemma-architecture.ts';
import { GEMMA3N } from './gemma3n/gemma3n-architecture.ts';
import { GEMMA4 } from './gemma4/gemma4-architecture.ts';
import { GLM } from './glm/glm-architecture.ts';
import { GPT } from './gpt/gpt-architecture.ts';
import { GPT_OSS } from './gpt-oss/gpt-oss-architecture.ts';
import { JINA_BERT } from './jina-bert/jina-bert-architecture.ts';
import { LFM2 } from './lfm2/lfm2-architecture.ts';
import { LLAMA } from './llama/llama-architecture.ts';
import { LLAMA4_TEXT } from './llama4/llama4-architecture.ts';
import { MIXTURE } from './mixtures/mixtures-architecture.ts';
import { NEMOTRON_H } from './nemotron-h/nemotron-h-architecture.ts';
import { MODERNBERT } from './modernbert/modernbert-architecture.ts';
import { NEOX } from './neox/neox-architecture.ts';
import { OLMO } from './olmo/olmo-architecture.ts';
import { PLAIN } from './plain/plain-architecture.ts';
import { QWEN3_NEXT } from './qwen3-next/qwen3-next-architecture.ts';
import { ROTARY_BERT } from './rotary-bert/rotary-bert-architecture.ts';
import { STARCODER } from './starcoder/starcoder-architecture.ts';
import { T5 } from './t5/t5-architecture.ts';

const architectures: TextArchitecture[] = [
  BAMBA,
  BART,
  BERT,
  COHERE,
  DEBERTA,
  DECI,
  EXAONE4,
  FALCON_H1,
  DEEPSEEK,
  GEMMA,
  GEMMA3N,
  GEMMA4,
  GLM,
  GPT,
  GPT_OSS,
  JINA_BERT,
  LFM2,
  LLAMA,
  LLAMA4_TEXT,
  MIXTURE,
  NEMOTRON_H,
  MODERNBERT,
  NEOX,
  OLMO,
  PLAIN,
  QWEN3_NEXT,
  ROTARY_BERT,
  STARCODER,
  T5,
];

/** Classes of all architectures, in the order in which messages list them. */
export function textClasses(): TextClass[] {
  return architectures.flatMap(({ classes }) => classes);
}

assertDistinct(architectures);

/** GGUF files of all architectures, by their general.architecture. */
export function ggufClasses(): ReadonlyMap<string, GgufClass> {
  return new Map(architectures.flatMap(({ gguf = [] }) => gguf.map((one) => [one.name, one])));
}

/** Throws if two architectures answer to one class name or read GGUF files of one general.architecture. */
function assertDistinct(all: readonly TextArchitecture[]): void {
  const known = new Set<string>();
  for (const { classes, gguf = [] } of all) {
    const names = [...classes.map(({ name }) => name), ...gguf.map(({ name }) => `GGUF ${name}`)];
    for (const name of names) {
      if (known.has(name)) throw new Error(`${name} is registered already`);
      known.add(name);
    }
  }
}

/** How the checkpoints of a class store experts whose matrices are one tensor; null: in tensors of their own. */
export function fusedExperts(className: string): ExpertOrder | null {
  const found = architectures.find(({ classes }) => classes.some(({ name }) => name === className));
  return found?.fusedExperts ?? null;
}

/** Names of the matrices that checkpoints of a class store as [k, rows]; null: there are none. */
export function transposedMatrices(className: string): RegExp | null {
  const found = architectures.find(({ classes }) => classes.some(({ name }) => name === className));
  return found?.transposed?.[className] ?? null;
}

/** How vectors of a class are computed from tensors that checkpoints store; null: none is. */
export function derivedVectors(json: Json, className: string): DerivedVectors | null {
  const found = architectures.find(({ classes }) => classes.some(({ name }) => name === className));
  return found?.derived?.[className]?.(json) ?? null;
}

/** Reads a configuration with the architecture that implements the class. Errors: unsupported, bad_checkpoint. */
export function readText(json: Json, className: string, source?: ConfigSource): TextDeclaration {
  const { architecture, file } = readBy(className, source);
  return architecture.read(json, className, file);
}

/** Reads the part of a model that each of `ranks` devices computes. Errors: unsupported, bad_checkpoint. */
export function readTextPart(
  json: Json,
  className: string,
  ranks: number,
  source?: ConfigSource,
): TextDeclaration {
  const { architecture, file } = readBy(className, source);
  if (architecture.divide) return architecture.divide(json, className, file, ranks);
  throw unsupported(
    say`${option('tpSize')} ${ranks} does not divide ${className} yet: use ${option('dpSize')}, or leave it out`,
    'tpSize',
  );
}

function readBy(
  className: string,
  { name, metadata }: ConfigSource = { name: CONFIG_JSON.name, metadata: null },
): { architecture: TextArchitecture; file: ConfigFile } {
  const architecture = architectures.find(({ classes }) => classes.some((one) => one.name === className));
  if (!architecture) {
    throw unsupported(
      say`${name}: the class ${className} is not built; choose another model: ${listsClasses('are')}`,
      'architectures',
    );
  }
  const keys = metadata === null ? {} : metadataKeys(metadata, ggufClasses().get(metadata)?.keys);
  return { architecture, file: { name, keys } };
}

/** Adds an architecture to this process and returns a function that removes it. For tests; the public interface cannot add one. */
export function registerTextArchitecture(architecture: TextArchitecture): () => void {
  assertDistinct([...architectures, architecture]);
  architectures.push(architecture);
  return () => void architectures.splice(architectures.indexOf(architecture), 1);
}

// The text architectures that are built in. A new family is one line here.

import { EngineError } from '../../files/error.ts';
import type { GgufClass } from '../../files/gguf/model.ts';
import type { Json } from '../config-values.ts';
import type { TextArchitecture, TextClass, TextDeclaration } from './architecture.ts';
import { BERT } from './bert-architecture.ts';
import { COHERE } from './cohere-architecture.ts';
import { GEMMA } from './gemma-architecture.ts';
import { GLM } from './glm-architecture.ts';
import { LFM2 } from './lfm2-architecture.ts';
import { LLAMA } from './llama-architecture.ts';
import { OLMO } from './olmo-architecture.ts';
import { STARCODER } from './starcoder-architecture.ts';

const architectures: TextArchitecture[] = [BERT, COHERE, GEMMA, GLM, LFM2, LLAMA, OLMO, STARCODER];

/** Classes of all architectures, in the order in which messages list them. */
export function textClasses(): TextClass[] {
  return architectures.flatMap(({ classes }) => classes);
}

/** GGUF files of all architectures, by their general.architecture. */
export function ggufClasses(): ReadonlyMap<string, GgufClass> {
  return new Map(architectures.flatMap(({ gguf = [] }) => gguf.map((one) => [one.name, one])));
}

/** The file that the readers of configurations name in their errors. */
const CONFIG = 'config.json';

/**
 * Reads a config.json with the architecture that implements the class. `file`: the file that its values are from, for messages. Errors:
 * unsupported, bad_checkpoint.
 */
export function readText(json: Json, className: string, file = CONFIG): TextDeclaration {
  const architecture = architectures.find(({ classes }) => classes.some(({ name }) => name === className));
  if (!architecture) throw new EngineError('unsupported', `${className} is not a class that is built`);
  try {
    return architecture.read(json, className);
  } catch (cause) {
    if (file === CONFIG || !(cause instanceof EngineError)) throw cause;
    const { code, message, param } = cause;
    throw new EngineError(code, message.replaceAll(CONFIG, file), {
      ...(param !== null && { param }),
      cause,
    });
  }
}

/** Adds an architecture to this process and returns a function that removes it. For tests; the public interface cannot add one. */
export function registerTextArchitecture(architecture: TextArchitecture): () => void {
  const known = textClasses().map(({ name }) => name);
  const twice = architecture.classes.find(({ name }) => known.includes(name));
  if (twice) throw new Error(`registerTextArchitecture: ${twice.name} is registered already`);
  architectures.push(architecture);
  return () => void architectures.splice(architectures.indexOf(architecture), 1);
}

// Files of a pipeline's components, and errors about them.

import { EngineError } from '../../../files/error.ts';
import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { Pipeline, PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';

/** Headers of the weights of each component. */
export type Files = ReadonlyMap<string, Weights>;

/** Closes the files of all components. */
export async function closeFiles(files: Files): Promise<void> {
  const sources = [...files.values()].flatMap((weights) => weights.sources);
  await Promise.all(sources.map((source) => source.close()));
}

/** Returns a component of model_index.json. Throws bad_checkpoint if there is none of that name. */
export function componentOf({ path, components }: Pipeline, name: string): PipelineComponent {
  const component = components[name];
  if (component) return component;
  throw new EngineError(
    'bad_checkpoint',
    `${path} has no ${name}, which its pipeline class needs: fetch the whole pipeline`,
    { param: 'model_index.json' },
  );
}

/** Adds the file's path to an error about its tensors. */
export function underFile(error: unknown, path: string): unknown {
  const isOfFile = error instanceof EngineError && /^(bad_checkpoint|unsupported)$/.test(error.code);
  return isOfFile ? error.underName(path) : error;
}

/** Returns the result of `run`; calls `close` if it fails. */
export async function orClose<T>(close: () => Promise<void>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await close();
    throw error;
  }
}

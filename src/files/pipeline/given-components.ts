// Components that the user gives beside those of a pipeline's files: the class that computes with them, and several of one kind under
// numbered names.

import { option, say } from '../message.ts';
import { badRequest, type EngineError } from '../error.ts';
import type { KnownPipelines, PipelineClass, PipelineComponents } from './pipeline-classes.ts';

/** Name of the i-th component of a kind of which a pipeline may have several, as diffusers names their folders. */
export const numberedName = (name: string, i: number): string => (i === 0 ? name : `${name}_${i}`);

/** Components of a class, and those of `given` that are further ones of a kind, without those that are read only if they are given. */
export function withNumbered(components: PipelineComponents, given: readonly string[]): PipelineComponents {
  const numbered = Object.entries(components).flatMap(([name, declared]) => {
    if (!declared.several) return [];
    const names = given.filter(
      (one) => one.startsWith(`${name}_`) && /^\d+$/.test(one.slice(name.length + 1)),
    );
    return names.map((one) => [one, { ...declared, base: name, optional: true }] as const);
  });
  const own = Object.entries(components).filter(
    ([name, { onlyGiven }]) => !onlyGiven || given.includes(name),
  );
  return Object.fromEntries([...own, ...numbered]);
}

/**
 * The class that draws with the given components: `className`, or the class of its family for the same task that has those of them which
 * it lacks.
 */
export function classWith(className: string, given: readonly string[], { classes }: KnownPipelines): string {
  const own = classes.get(className);
  if (own === undefined) return className;
  const has = ({ components }: PipelineClass): boolean => {
    const all = withNumbered(components, given);
    return given.every((name) => Object.hasOwn(all, name) || !isAdded(name));
  };
  /** Whether a class of the family has a component that `className` lacks. */
  const isAdded = (name: string): boolean =>
    !Object.hasOwn(withNumbered(own.components, given), name) &&
    family.some(([, { components }]) => Object.hasOwn(withNumbered(components, given), name));
  const family = [...classes].filter(([, one]) => one.family === own.family);
  if (has(own)) return className;
  return family.find(([, one]) => one.task === own.task && has(one))?.[0] ?? className;
}

/** Options that give components of their own. */
export const OPTIONS_OF_COMPONENTS: Readonly<Record<string, string>> = {
  controlnet: 'controlnetPath',
  ip_adapter: 'ipAdapterPath',
  upscaler: 'upscalingModelPath',
};

/** The error of a given component that a pipeline does not have. `names`: those that it has. */
export function unknownComponent(name: string, names: readonly string[]): EngineError {
  const param = OPTIONS_OF_COMPONENTS[name.replace(/_\d+$/, '')];
  const has = `it has ${[...names].sort().join(', ')}`;
  if (param !== undefined) {
    const message = say`${option(param)} is not for this pipeline: ${has}`;
    return badRequest(message, param);
  }
  const message = `componentPaths names ${name}, which is not a component of this pipeline: ${has}`;
  return badRequest(message, 'componentPaths');
}

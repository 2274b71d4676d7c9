// Pipeline classes that are not built in: the input or output that no built-in class has, and the class that can run with the same
// components. A class is never run as another one unless the user names that one.

import { option, say } from '../message.ts';
import { unsupported } from '../error.ts';
import { mainNamesOf, type KnownPipelines, type PipelineClass } from './pipeline-classes.ts';

type Index = Readonly<Record<string, unknown>>;

/** Throws for a pipeline class that is not built in; `index` is its model_index.json. */
export function refuseClass(path: string, className: string, index: Index, known: KnownPipelines): never {
  const unbuilt = known.unbuilt.find(({ classes }) => classes.test(className));
  const purpose = unbuilt === undefined ? 'is not built in' : `${unbuilt.purpose}, and is not built in`;
  const alternative = unbuilt?.needsInput === true ? null : classOfComponents(className, index, known);
  const remedy =
    alternative === null
      ? ''
      : say`; ${option('pipelineClassName')} ${alternative} draws with its components, and without what the class adds`;
  throw unsupported(
    say`${path} is ${/^[AEIOU]/.test(className) ? 'an' : 'a'} ${className}, which ${purpose}: this version runs ${mainNamesOf(known)}${remedy}`,
    'model',
  );
}

/** Class of a family whose components are all in the index, for the task of `className`; null: there is none. */
function classOfComponents(
  className: string,
  index: Index,
  { classes, taskOf }: KnownPipelines,
): string | null {
  const named = (known: PipelineClass): number => {
    const components = Object.entries(known.components);
    const found = components.filter(([name, { classes: may }]) => isOf(index, name, may));
    const isWhole = components.every((entry) => entry[1].optional === true || found.includes(entry));
    return isWhole ? found.length : 0;
  };
  // The components of one family may hold all those of another: the family that reads most of them is meant.
  const most = Math.max(...[...classes.values()].map(named));
  const fits = [...classes].find(([, known]) => most > 0 && named(known) === most);
  if (!fits) return null;
  const { variants } = fits[1];
  return variants[taskOf(className)] ?? variants['text-to-image'] ?? null;
}

/** Whether the index names a component of one of these classes; null: of any class. */
function isOf(index: Index, name: string, classes: readonly string[] | null): boolean {
  const pair: unknown = Object.hasOwn(index, name) ? index[name] : null;
  const [, className]: unknown[] = Array.isArray(pair) ? pair : [];
  return typeof className === 'string' && (classes === null || classes.includes(className));
}

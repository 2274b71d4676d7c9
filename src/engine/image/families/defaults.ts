// Defaults of a model: those of its family, overridden by what its files, its pipeline class or a word in its name imply.

import { type Prose } from '../../../files/message.ts';
import type { ComponentFiles, DefaultsFrom, FamilyDefaults } from '../blocks/family.ts';
import type { PipelineEntry } from './registry.ts';

export interface OwnDefaults {
  defaults: FamilyDefaults;
  /** The hint from which some values were taken; left out: all come from the family. */
  defaultsFrom?: string;
  /** A note for the user if the files do not show how the model is used. */
  hint?: Prose;
}

/**
 * Returns the defaults of a model; `name` is its own name, or the `modelId` that replaces it, and `settings` are the entries of
 * model_index.json that are not components.
 */
export function defaultsOf(
  entry: PipelineEntry,
  components: ComponentFiles,
  name: string,
  settings: Readonly<Record<string, unknown>> = {},
): OwnDefaults {
  const { family } = entry;
  const implied = family.defaultsOf?.(components, settings) ?? {};
  const found = implied.certain ?? defaultsByName(entry, name) ?? implied.likely;
  if (found) {
    const defaults = { ...family.defaults, ...found.defaults };
    return { defaults, defaultsFrom: found.from };
  }
  const { defaults } = family;
  return implied.hint === undefined ? { defaults } : { defaults, hint: implied.hint };
}

function defaultsByName({ family, set, className }: PipelineEntry, name: string): DefaultsFrom | null {
  if (set.defaults) return { defaults: set.defaults, from: `the class ${className}` };
  for (const [words, defaults] of family.namedDefaults) {
    const [word] = words.exec(name) ?? [];
    if (word !== undefined) return { defaults, from: `"${word}" in its name` };
  }
  return null;
}

// Tensors of a text model that another class wraps, renamed to the names that they have in the text model alone; alone or with the
// tensors of the towers beside it. LoRAs of such a model name its modules in the same ways.

/** Prefixes of text model modules in wrapping classes: of transformers before version 5, since version 5, of Idefics, and of Qwen's models that hear. */
const PREFIXES: readonly (readonly [there: string, alone: string])[] = [
  ['language_model.model.', 'model.'],
  ['language_model.lm_head.', 'lm_head.'],
  ['model.language_model.', 'model.'],
  ['model.text_model.', 'model.'],
  ['thinker.model.', 'model.'],
  ['thinker.lm_head.', 'lm_head.'],
  ['lm_head.', 'lm_head.'],
];

/** Towers within the model of a class that wraps no other: of Phi-4-multimodal. */
const TOWERS_WITHIN = 'model.embed_tokens_extend.';

export interface TextTensors<Entry> {
  tensors: Map<string, Entry>;
  /** Outermost modules, and tensors outside of any module, that do not belong to the text model. */
  left: string[];
  /** Number of their tensors. */
  leftTensors: number;
}

/** Returns the text model's tensors by their original names. If no module has one of the prefixes, all names are kept. */
export function textTensors<Entry>(tensors: ReadonlyMap<string, Entry>): TextTensors<Entry> {
  const hasTowersWithin = [...tensors.keys()].some((name) => name.startsWith(TOWERS_WITHIN));
  const named = [...tensors].map(([name, entry]) => {
    const isOwn = hasTowersWithin && !name.startsWith(TOWERS_WITHIN);
    return { name, entry, own: isOwn ? name : ownName(name) };
  });
  if (!hasTowersWithin && !named.some(({ name, own }) => own !== null && own !== name))
    return { tensors: new Map(tensors), left: [], leftTensors: 0 };
  const left = named.filter(({ own }) => own === null);
  return {
    tensors: new Map(named.flatMap(({ own, entry }) => (own === null ? [] : [[own, entry] as const]))),
    left: [
      ...new Set(
        left.map(({ name }) =>
          name
            .split('.')
            .slice(0, name.startsWith('model.') ? 2 : 1)
            .join('.'),
        ),
      ),
    ],
    leftTensors: left.length,
  };
}

/** Returns the tensors beside the text model, by their names without a leading `model.` or `thinker.`. */
export function besideTensors<Entry>(tensors: ReadonlyMap<string, Entry>): Map<string, Entry> {
  return new Map(
    [...tensors].flatMap(([name, entry]) =>
      ownName(name) === null ? [[name.replace(/^(model|thinker)\./, ''), entry] as const] : [],
    ),
  );
}

/** Returns all tensors, those of the text model by their names in the text model alone, and those of a vision tower by `visual.`. */
export function wrappedTensors<Entry>(tensors: ReadonlyMap<string, Entry>): Map<string, Entry> {
  const named = (name: string): string => ownName(name) ?? name.replace(/^model\.visual\./, 'visual.');
  return new Map([...tensors].map(([name, entry]) => [named(name), entry]));
}

/** The name of a module in the text model alone; modules that are not within another class's text model keep theirs. */
export function textModule(name: string): string {
  const own = ownName(`${name}.`);
  return own === null ? name : own.slice(0, -1);
}

function ownName(name: string): string | null {
  const found = PREFIXES.find(([there]) => name.startsWith(there));
  return found === undefined ? null : found[1] + name.slice(found[0].length);
}

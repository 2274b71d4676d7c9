// Tensors of a checkpoint that a page does not read. Ignoring one that belongs to a module that is read would change the result; ignoring
// a whole module beside the model (a vision tower, heads that predict further tokens) does not.

export interface UnreadModules {
  /** Outermost modules of which nothing is read. */
  names: readonly string[];
  /** Tensors in all of them. */
  tensors: number;
}

/** Scales that quantizers leave beside weights that are plain numbers; they apply only to activations and caches. */
const LEFTOVERS =
  /(\.(input|output|weight|[qkv](_bmm)?)_quantizer\._amax|\.(input|output|[qkv])_(scale|zero_point))$|\.(activation_post_process|weight_fake_quant)\./;

/** `left`: tensors that nothing reads; `read`: tensors that the page reads. `needed`: unread tensors without which the result would be wrong. */
export function findUnread(
  left: readonly string[],
  read: ReadonlySet<string>,
): { needed: string[]; modules: UnreadModules } {
  if (left.length === 0) return { needed: [], modules: { names: [], tensors: 0 } };
  const readModules = modulesOf(read);
  let children: ReturnType<typeof childrenOf> | undefined;
  // Large models of experts have a hundred thousand tensors, and few of them need this.
  const childrenOnce = () => (children ??= childrenOf([...read, ...left]));
  const needed: string[] = [];
  const names = new Set<string>();
  for (const tensor of left) {
    const module = LEFTOVERS.test(tensor)
      ? parentOf(tensor.replace(/\._amax$/, ''))
      : outermostUnread(tensor, readModules);
    if (module === null || (!LEFTOVERS.test(tensor) && isNeeded(module, childrenOnce, readModules)))
      needed.push(tensor);
    else names.add(module);
  }
  return { needed, modules: { names: [...names], tensors: left.length - needed.length } };
}

/** Returns the outermost module of a tensor that contains no tensor that is read; null: the tensor's own module is read. */
function outermostUnread(tensor: string, readModules: ReadonlySet<string>): string | null {
  return ancestorsOf(tensor).find((module) => !readModules.has(module)) ?? null;
}

/**
 * Returns true if a module of which nothing is read takes part in the computation of the surrounding module: it lies within a
 * layer, is a single operation of a module that is read (such as a norm after the embedding), or belongs to a list of equal layers.
 */
function isNeeded(
  module: string,
  childrenOnce: () => ReadonlyMap<string, ReadonlySet<string>>,
  readModules: ReadonlySet<string>,
): boolean {
  const around = parentOf(module);
  if (around === '') return false;
  if (around.split('.').some(isIndex)) return true;
  const children = childrenOnce();
  const own = children.get(module)!;
  if (!isIndex(module.slice(around.length + 1))) return [...own].every((path) => !path.includes('.'));
  // Layers that predict further tokens contain modules that no other layer has.
  const siblings = [...children].filter(
    ([other]) => parentOf(other) === around && other !== module && readModules.has(other),
  );
  return siblings.some(([, paths]) => [...own].every((path) => paths.has(path)));
}

/** Maps each module to the paths of all tensors below it. */
function childrenOf(tensors: readonly string[]): Map<string, Set<string>> {
  const children = new Map<string, Set<string>>();
  for (const tensor of tensors) {
    for (const module of ancestorsOf(tensor)) {
      const paths = children.get(module) ?? new Set();
      children.set(module, paths.add(tensor.slice(module.length + 1)));
    }
  }
  return children;
}

/** All modules that hold these tensors. */
function modulesOf(tensors: ReadonlySet<string>): Set<string> {
  const modules = new Set<string>();
  for (const tensor of tensors)
    for (let module = parentOf(tensor); module !== '' && !modules.has(module); module = parentOf(module))
      modules.add(module);
  return modules;
}

/** a.b.weight → a, a.b */
function ancestorsOf(tensor: string): string[] {
  const ancestors: string[] = [];
  for (let end = tensor.indexOf('.'); end >= 0; end = tensor.indexOf('.', end + 1))
    ancestors.push(tensor.slice(0, end));
  return ancestors;
}

function parentOf(name: string): string {
  return name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : '';
}

function isIndex(name: string): boolean {
  return /^\d+$/.test(name);
}

/** Limit on the modules that a note names. */
const NAMED = 6;

/** Returns the note about modules that nothing reads; null: there are none. */
export function unreadNote({ names, tensors }: UnreadModules, architecture: string): string | null {
  if (names.length === 0) return null;
  const named = names.slice(0, NAMED).join(', ');
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${tensors === 1 ? '1 tensor' : `${tensors} tensors`} of modules that ${architecture} does not have are ignored: ${named}${more}`;
}

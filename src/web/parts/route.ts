// The address's hash, whose first segment names the view: `#/chat/<conversation>`.

import { effect, signal } from '@preact/signals';

/** Segments of the hash. */
export const route = signal(segments());

function segments(): string[] {
  return location.hash.replace(/^#\/?/, '').split('/').map(decoded);
}

/** A segment that is no URI component, for example `%`, stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

addEventListener('hashchange', () => {
  route.value = segments();
});

/** Goes to a view without an entry in the history, where the address only tells what is shown already. */
export function replaceRoute(...parts: string[]): void {
  history.replaceState(null, '', `#/${parts.map(encodeURIComponent).join('/')}`);
  route.value = parts;
}

const last = new Map<string, string>();
effect(() => {
  const [view = '', ...rest] = route.value;
  last.set(view, `#/${[view, ...rest].map(encodeURIComponent).join('/')}`);
});

/** The address at which a view was left. */
export const lastAddressOf = (view: string): string => last.get(view) ?? `#/${view}`;

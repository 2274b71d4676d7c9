// Names of pages in storage: a page is named by all tokens up to its end, so its name follows from its parent's. The pages of the first
// group of layers make up the chain; those of other groups, and copies of fixed states, hang on it.

import type { PageStorage } from '../../platform/platform.ts';
import { STATES, type CachedPage, type PageNode } from './cached-page.ts';

export class PageNames {
  readonly #storage: PageStorage;
  readonly #known = new WeakMap<PageNode, string>();

  constructor(storage: PageStorage) {
    this.#storage = storage;
  }

  /** Name of a node's page of the first group. */
  of(node: PageNode): string {
    let name = this.#known.get(node);
    if (name === undefined) {
      name = this.after(node.parent && this.of(node.parent), node.scope, node.key);
      this.set(node, name);
    }
    return name;
  }

  ofPage({ node, group }: CachedPage): string {
    return this.inGroup(group, this.of(node));
  }

  /** Name of the page that must be in storage for this one to be found; null: none. */
  before({ node, group }: CachedPage): string | null {
    if (group !== 0) return this.of(node);
    return node.parent && this.of(node.parent);
  }

  /** Name of the first group's page with this key that follows the page named `before`. */
  after(before: string | null, scope: string, key: string): string {
    return this.#storage.name(before, scope, key);
  }

  /** Name of another group's page of the node whose page in the first group is named `name`. */
  inGroup(group: number, name: string): string {
    if (group === 0) return name;
    return this.#storage.name(name, '', group === STATES ? 'states' : `group ${group}`);
  }

  set(node: PageNode, name: string): void {
    this.#known.set(node, name);
  }
}

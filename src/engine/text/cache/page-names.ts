// Names of pages in storage: a page is named by all tokens up to its end, so its name follows from its parent's.

import type { PageStorage } from '../../platform.ts';
import type { PageNode } from './prefix-tree.ts';

export class PageNames {
  readonly #storage: PageStorage;
  readonly #known = new WeakMap<PageNode, string>();

  constructor(storage: PageStorage) {
    this.#storage = storage;
  }

  of(node: PageNode): string {
    let name = this.#known.get(node);
    if (name === undefined) this.set(node, (name = this.after(this.before(node), node.scope, node.key)));
    return name;
  }

  /** Name of the node's parent; null: it has none. */
  before({ parent }: PageNode): string | null {
    return parent && this.of(parent);
  }

  /** Name of the page with this key that follows the page named `before`. */
  after(before: string | null, scope: string, key: string): string {
    return this.#storage.name(before, scope, key);
  }

  set(node: PageNode, name: string): void {
    this.#known.set(node, name);
  }
}

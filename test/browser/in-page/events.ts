// node:events as far as the tests of kernels use it in a page, where nothing counts an event target's listeners.

export function setMaxListeners(): void {}

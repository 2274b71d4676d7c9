// Texts into the clipboard.

/** Copies a text and marks the button for a moment: the style sheet shows `data-copied` behind its label. */
export async function copyText(text: string, button: HTMLButtonElement): Promise<void> {
  button.dataset['copied'] = (await write(text)) ? 'yes' : 'no';
  setTimeout(() => delete button.dataset['copied'], 1500);
}

async function write(text: string): Promise<boolean> {
  try {
    // Browsers have this on secure pages and on those of this machine.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeBySelection(text);
  }
}

function writeBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}

// Markdown in the page. Blocks that have not changed keep their elements while a text grows.

import { useMemo } from 'preact/hooks';
import { copyText } from '../parts/copy.ts';
import { blockHtml, blocksOf, loadedRenderers } from './markdown.ts';

export function Markdown({ text }: { text: string }) {
  const loaded = loadedRenderers.value;
  const blocks = useMemo(
    () => blocksOf(text).map((block) => ({ raw: block.raw, html: () => blockHtml(block) })),
    [text, loaded],
  );
  return (
    <div class="markdown" onClick={copyCode}>
      {blocks.map(({ raw, html }, at) => (
        <Block key={at} raw={`${loaded} ${raw}`} html={html} />
      ))}
    </div>
  );
}

function Block({ raw, html }: { raw: string; html: () => string }) {
  // An element that stays the same is not compared again.
  return useMemo(() => <div dangerouslySetInnerHTML={{ __html: html() }} />, [raw]);
}

function copyCode({ target }: Event): void {
  const button = (target as Element).closest<HTMLButtonElement>('button.copy-code');
  const code = button?.closest('.code')?.querySelector('code')?.textContent;
  if (button && code != null) void copyText(code, button);
}

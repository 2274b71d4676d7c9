// The frame of the page: its views, which the address's hash names, and the dialog that asks for a key.

import type { ComponentType } from 'preact';
import { ChatView } from './chat/chat-view.tsx';
import { ImagesView } from './images/images-view.tsx';
import { KeyDialog } from './parts/key-dialog.tsx';
import { lastAddressOf, route } from './parts/route.ts';
import { ServerView } from './server/server-view.tsx';

interface View {
  title: string;
  show: ComponentType;
}

/** The views by the first segment of the hash: `#/chat/<conversation>`. */
const VIEWS: Readonly<Record<string, View>> = {
  chat: { title: 'Chat', show: ChatView },
  images: { title: 'Images', show: ImagesView },
  server: { title: 'Server', show: ServerView },
};

export function App() {
  const [asked = ''] = route.value;
  const name = asked in VIEWS ? asked : 'chat';
  const { show: Shown } = VIEWS[name]!;
  return (
    <>
      <header class="bar">
        <h1>svc-engine</h1>
        <nav aria-label="Views">
          {Object.entries(VIEWS).map(([id, { title }]) => (
            <a
              key={id}
              href={id === name ? `#/${id}` : lastAddressOf(id)}
              aria-current={id === name ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        <a class="docs" href="docs">
          API
        </a>
      </header>
      <main>
        <Shown />
      </main>
      <KeyDialog />
    </>
  );
}

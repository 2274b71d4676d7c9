// The page's start: the style sheet, and the application in its place.

import { render } from 'preact';
import { App } from './app.tsx';
import './style/page.css';

render(<App />, document.querySelector('#page')!);

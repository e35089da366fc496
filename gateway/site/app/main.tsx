/** Starts the site in the page's #site element. */
import { render } from 'preact';
import { startKeys } from './keys.js';
import { startClock } from './model/clock.js';
import { startLive } from './model/live.js';
import { resumeSession } from './model/session.js';
import { Shell } from './shell.js';
import { language } from './words/words.js';

document.documentElement.lang = language;
const site = document.getElementById('site')!;
site.replaceChildren();
startClock();
startKeys();
render(<Shell />, site);
void resumeSession().then(startLive, startLive);

/** What is loaded after the market's first paint. */
import '../install.js';

export { Chart } from '../chart/chart.js';
export { Results } from '../results/results.js';
export { SlotGrid } from './slot-grid.js';

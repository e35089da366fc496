/** The rows, for clients that connect to the thread of an edge. */
import { conform } from './conform.js';

conform('edge thread');

/** Conformance of clients connected to an edge's thread. */
import { conform } from './conform.js';

conform('edge thread');

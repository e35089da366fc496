/** Conformance of clients connected to a replica. */
import { conform } from './conform.js';

conform('replica');

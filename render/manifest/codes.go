package manifest

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Codes of problems beside the causes of the API server. They stay where messages change. docs/messages.md lists them.
const (
	// FieldUnknown is a field that the kind does not have.
	FieldUnknown metav1.CauseType = "FieldUnknown"
	// MalformedYAML is a file, or a text in it, that is no YAML.
	MalformedYAML metav1.CauseType = "MalformedYAML"
	// MergeConflict is lines that git left in a file with a merge conflict.
	MergeConflict metav1.CauseType = "MergeConflict"
	// MalformedObject is an object without the fields that every object has.
	MalformedObject metav1.CauseType = "MalformedObject"
	// InexactValue is a value that tools read or write in several ways: put it in quotes.
	InexactValue metav1.CauseType = "InexactValue"
	// DuplicateObject is an object, or a key, that is there twice.
	DuplicateObject metav1.CauseType = "DuplicateObject"
	// InvalidKustomization is a kustomization that kustomize refuses or misunderstands.
	InvalidKustomization metav1.CauseType = "InvalidKustomization"
	// KustomizeFailed is an error of kustomize that no other code names.
	KustomizeFailed metav1.CauseType = "KustomizeFailed"
	// NothingSelected is a patch or selector that selects no object.
	NothingSelected metav1.CauseType = "NothingSelected"
	// NothingChanged is an entry of a kustomization that changes no object, or a setting that its tool does not know.
	NothingChanged metav1.CauseType = "NothingChanged"
	// NoObjects is an environment or a folder without any object.
	NoObjects metav1.CauseType = "NoObjects"
	// LostItem is an item that a patch of a list loses.
	LostItem metav1.CauseType = "LostItem"
	// InvalidChart is a chart that is missing or does not render.
	InvalidChart metav1.CauseType = "InvalidChart"
	// InvalidValues is values that a chart refuses.
	InvalidValues metav1.CauseType = "InvalidValues"
	// NotJudged is a release whose objects are not judged.
	NotJudged metav1.CauseType = "NotJudged"
	// NotFollowed is a delivery whose objects are not judged.
	NotFollowed metav1.CauseType = "NotFollowed"
	// InvalidDefinition is a file in a folder of definitions that is no definition, or is there twice.
	InvalidDefinition metav1.CauseType = "InvalidDefinition"
	// MissingDefinition is objects of a kind without a CustomResourceDefinition.
	MissingDefinition metav1.CauseType = "MissingDefinition"
	// InvalidVariable is a variable that Flux cannot substitute.
	InvalidVariable metav1.CauseType = "InvalidVariable"
	// PolicyDenied is an object that an admission policy of the environment denies or warns about.
	PolicyDenied metav1.CauseType = "PolicyDenied"
	// PolicyNotEvaluated is a policy that reads what only a cluster knows.
	PolicyNotEvaluated metav1.CauseType = "PolicyNotEvaluated"
	// InvalidOverride is an override that changes what overrides may not change.
	InvalidOverride metav1.CauseType = "InvalidOverride"
	// InvalidAnnotation is an annotation of a kustomization, such as the version of Kubernetes, with a wrong value.
	InvalidAnnotation metav1.CauseType = "InvalidAnnotation"
	// InvalidSettings is a wrong field or value in .gatehouse.yaml.
	InvalidSettings metav1.CauseType = "InvalidSettings"
	// InvalidObject is an object that the API server refuses as a whole.
	InvalidObject metav1.CauseType = "InvalidObject"
	// APIWarning is a warning of the API server.
	APIWarning metav1.CauseType = "APIWarning"
	// MissingEnvironment is an environment or a folder that is not there.
	MissingEnvironment metav1.CauseType = "MissingEnvironment"
	// MissingObject is a name, a key or a port that leads nowhere.
	MissingObject metav1.CauseType = "MissingObject"
	// MissingNamespace is a namespace that nothing makes.
	MissingNamespace metav1.CauseType = "MissingNamespace"
	// MissingController is a kind whose controller, or the policy that guards it, is missing or has another name.
	MissingController metav1.CauseType = "MissingController"
	// InvalidImage is an image that no Pod can start.
	InvalidImage metav1.CauseType = "InvalidImage"
	// NeverStarts is a delivery that never comes up in an empty cluster.
	NeverStarts metav1.CauseType = "NeverStarts"
	// NeverWorks is an object that is valid and never works.
	NeverWorks metav1.CauseType = "NeverWorks"
	// ScaledTwice is replicas that two objects or tools set.
	ScaledTwice metav1.CauseType = "ScaledTwice"
	// RunsAgain is a Job that a sync may run again.
	RunsAgain metav1.CauseType = "RunsAgain"
	// OfKind is a warning of the kind itself.
	OfKind metav1.CauseType = "OfKind"
	// OtherFile is a file in rendered/ that render did not write, or that is at its place.
	OtherFile metav1.CauseType = "OtherFile"
	// RunFailed is an error that ends a run or a part of it, as of a file that cannot be read.
	RunFailed metav1.CauseType = "RunFailed"
	// LimitExceeded is a run that takes more time or memory than it may.
	LimitExceeded metav1.CauseType = "LimitExceeded"
	// NotCommitted is a file that has to be committed first.
	NotCommitted metav1.CauseType = "NotCommitted"
	// NotAdopted is a field that render init leaves out or cannot keep.
	NotAdopted metav1.CauseType = "NotAdopted"
	// ClusterDiffers is an object of a cluster that is not as git has it.
	ClusterDiffers metav1.CauseType = "ClusterDiffers"
	// ClusterRefused is an answer of a cluster: it refuses an object, or the object does not become ready.
	ClusterRefused metav1.CauseType = "ClusterRefused"
	// CRLF is a file with line ends of Windows, which become part of a generated object.
	CRLF metav1.CauseType = "CRLF"
	// ChartRuleOfRender is a chart that Helm accepts and render does not: it reads random values, a clock or a cluster,
	// or takes too much.
	ChartRuleOfRender metav1.CauseType = "ChartRuleOfRender"
	// ValuesFile is a file of values of a chart that cannot be read.
	ValuesFile metav1.CauseType = "ValuesFile"
	// OldError is an error that the base of a change has as well. It is a warning.
	OldError metav1.CauseType = "OldError"
)
